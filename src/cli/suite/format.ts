import * as z from 'zod'
import type { Invariant } from '../../analysis/invariants/suppose.ts'
import { ipFromSocket } from '../../cel/values/ip.ts'
import { issue, oneOfKeys } from '../../policies/shapes.ts'

/** Claims of a token, or any other JSON. */
const claims = z.record(z.string(), z.json())

const headers = z.record(z.string().min(1), z.union([z.string(), z.array(z.string())]))

const address = z.string().check(({ value, issues }) => {
  if (ipFromSocket(value) !== undefined) return
  const hint = 'write it as 10.0.0.7 or 2001:db8::1'
  issues.push(issue(value, 'this is not an IP address', { rule: 'malformed', hint }))
})

const certificate = z.strictObject({
  subject: z.string().default('client').describe('The common name.'),
  names: z
    .array(z.string())
    .default([])
    .describe('Alternative names: `DNS:a.test`, `URI:spiffe://…`.'),
})

const upstream = z.strictObject({
  backend: z.string().optional().describe('The backend that it reached.'),
  method: z.string().optional().describe('The method that it got.'),
  path: z.string().optional().describe('Path and query that it got.'),
  headers: z
    .record(z.string(), z.string().nullable())
    .optional()
    .describe('Headers that it got; `null`: one that it did not get.'),
  body: z.string().optional().describe('The body that it got.'),
})

const mcpOutcome = z.enum(['admitted', 'unlisted', 'denied', 'hidden'])

const outcome = z.strictObject({
  mcp: mcpOutcome
    .optional()
    .describe(
      'With `requests[].mcp`. `admitted`: it is in the list, and its server gets the call. ' +
        '`unlisted`: its server gets the call, though it is in no list. `denied`: it is in the list, ' +
        'and the call is denied. `hidden`: neither; to this caller it does not exist.',
    ),
  status: z.int().min(100).max(599).optional().describe('The status of the response.'),
  closed: z
    .literal(true)
    .optional()
    .describe('The connection is closed before any byte of a response.'),
  because: z
    .string()
    .optional()
    .describe('What decided: `Deny[0] matches`, `Require[0] is false`, `no Allow matches`, …'),
  policy: z.string().optional().describe('The policy of the rule that decided.'),
  stage: z
    .enum(['connection', 'traffic', 'backend', 'mcp'])
    .optional()
    .describe('Where it was decided.'),
  headers: z
    .record(z.string(), z.string().nullable())
    .optional()
    .describe('Headers of the response; `null`: one that is not there.'),
  body: z.string().optional().describe('A part of the body of the response.'),
  upstream: z
    .union([upstream, z.literal(false)])
    .optional()
    .describe('What the backend saw; `false`: nothing came to any backend.'),
})

const mcp = oneOfKeys(
  z.strictObject({
    tool: z.string().min(1).optional().describe('The name of a tool, as clients call it.'),
    prompt: z.string().min(1).optional().describe('The name of a prompt.'),
    resource: z.string().min(1).optional().describe('The URI of a resource.'),
    arguments: z.record(z.string(), z.json()).optional().describe('Of the tool or the prompt.'),
  }),
  ['tool', 'prompt', 'resource'],
)

const request = z.strictObject({
  name: z.string().optional().describe('What the case shows; made from the request otherwise.'),
  listener: z
    .string()
    .optional()
    .describe('A gateway, a listener, or `gateway/listener`; the first one by default.'),
  as: z
    .union([z.string(), claims])
    .optional()
    .describe('Who asks: a name of `identities`, or the claims of a token. Absent: no token.'),
  token: z
    .enum([
      'valid',
      'expired',
      'early',
      'unknown-key',
      'forged',
      'unsigned',
      'no-key-id',
      'no-expiry',
    ])
    .default('valid')
    .describe('What the token is like; it carries the claims of `as` all the same.'),
  method: z.string().default('GET').describe('The method.'),
  path: z
    .string()
    .default('/')
    .describe('Path and query, sent as it is. With `mcp`, `/mcp` by default.'),
  host: z.string().default('example.com').describe('The requested host.'),
  headers: headers.default({}).describe('Several values of one name are a list.'),
  body: z.string().optional().describe('The body.'),
  mcp: mcp
    .optional()
    .describe(
      'In place of `method` and `body`: calls a tool, gets a prompt or reads a resource, after a ' +
        'look at the list in which it would be.',
    ),
  from: address
    .optional()
    .describe(
      'The address of the client. Of the network 127.0.0.0/8 it is bound, else told by PROXY protocol.',
    ),
  sni: z
    .union([z.string(), z.literal(false)])
    .optional()
    .describe('The server name of TLS, `host` by default; `false`: none is sent.'),
  certificate: certificate.optional().describe('A client certificate that the listener trusts.'),
  expect: z
    .union([z.int().min(100).max(599), z.literal('closed'), mcpOutcome, outcome])
    .describe(
      'What is to become of it: a status, `closed`, a word of `expect.mcp`, or more of it.',
    ),
  because: z.string().optional().describe('The same as `expect.because`.'),
})

const invariant = z.strictObject({
  name: z.string().min(1).describe('What must hold.'),
  on: z
    .strictObject({
      listener: z.string().optional().describe('A gateway, `gateway/listener`, or a listener.'),
      route: z.string().optional().describe('A route.'),
      backend: z.string().optional().describe('A backend.'),
    })
    .default({})
    .describe('Where it must hold; everywhere by default.'),
  when: z
    .string()
    .optional()
    .describe('A CEL expression: only requests for which it is true are meant.'),
  admitted: z
    .union([z.string(), z.boolean()])
    .describe(
      'A CEL expression that must be true of every request that is admitted; `false`: none may be.',
    ),
})

export const suiteSchema = z
  .strictObject({
    name: z.string().min(1).describe('What the cases are about.'),
    config: z
      .union([z.string().min(1), z.record(z.string(), z.json())])
      .describe('The configuration: a file beside this one, or the configuration itself.'),
    identities: z.record(z.string(), claims).default({}).describe('Claims by name, for `as`.'),
    backends: z
      .record(
        z.string(),
        z.strictObject({
          status: z.int().min(200).max(599).default(200).describe('The status.'),
          headers: z.record(z.string(), z.string()).default({}).describe('The headers.'),
          body: z
            .string()
            .optional()
            .describe(
              'The body, or what the tools of an MCP server return; the name of the backend by default.',
            ),
          tools: z
            .array(z.string().min(1))
            .optional()
            .describe('Tools of an MCP server, beside those that its pins and the cases name.'),
        }),
      )
      .default({})
      .describe('What test backends respond with; 200 and the name of the backend by default.'),
    requests: z.array(request).default([]).describe('The cases, run in this order.'),
    invariants: z
      .array(invariant)
      .default([])
      .describe('What must hold of all requests, proven rather than tried.'),
  })
  .check(({ value, issues }) => {
    for (const [index, one] of value.requests.entries()) {
      if (expectedOf(one).mcp === undefined || one.mcp !== undefined) continue
      const hint = 'name a tool, a prompt or a resource with `mcp`'
      const at = ['requests', index, 'expect']
      issues.push(issue(value, '`mcp` is missing', { rule: 'missing', hint }, at))
    }
    if (value.requests.length + value.invariants.length > 0) return
    const hint = 'list requests and their expected outcomes under `requests`, or `invariants`'
    issues.push(issue(value, 'nothing is tested', { rule: 'missing', hint }))
  })

export interface Suite extends Omit<z.output<typeof suiteSchema>, 'invariants'> {
  readonly invariants: readonly Invariant[]
}
export type Case = Suite['requests'][number]
export type Expected = z.output<typeof outcome>
export type McpOutcome = z.output<typeof mcpOutcome>

/** Both ways to write what is expected, as one. */
export function expectedOf({ expect, because }: Case): Expected {
  const own = typeof expect === 'object' ? expect : expectedBy(expect)
  return because === undefined ? own : { ...own, because }
}

function expectedBy(expect: Exclude<Case['expect'], object>): Expected {
  if (typeof expect === 'number') return { status: expect }
  return expect === 'closed' ? { closed: true } : { mcp: expect }
}
