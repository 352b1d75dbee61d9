import * as z from 'zod'
import type { Invariant } from '../../analysis/invariants/suppose.ts'
import { ipFromSocket } from '../../cel/values/ip.ts'
import { issue, oneOfKeys } from '../../policies/shapes.ts'

/** The claims of a token, or any other JSON. */
const claims = z.record(z.string(), z.json())

const headers = z.record(z.string().min(1), z.union([z.string(), z.array(z.string())]))

const address = z.string().check(({ value, issues }) => {
  if (ipFromSocket(value) !== undefined) return
  const hint = 'write it as 10.0.0.7 or 2001:db8::1'
  issues.push(issue(value, 'not an IP address', { rule: 'malformed', hint }))
})

const certificate = z.strictObject({
  subject: z.string().default('client').describe('The common name.'),
  names: z
    .array(z.string())
    .default([])
    .describe('Alternative names: `DNS:a.test`, `URI:spiffe://…`.'),
})

const upstream = z.strictObject({
  backend: z.string().optional().describe('The backend that received the request.'),
  method: z.string().optional().describe('The method that the backend received.'),
  path: z.string().optional().describe('The path and query that the backend received.'),
  headers: z
    .record(z.string(), z.string().nullable())
    .optional()
    .describe('Headers that the backend received; `null`: the header must be absent.'),
  body: z.string().optional().describe('The body that the backend received.'),
})

const mcpOutcome = z.enum(['admitted', 'unlisted', 'denied', 'hidden'])

const outcome = z.strictObject({
  mcp: mcpOutcome
    .optional()
    .describe(
      'With `requests[].mcp`. `admitted`: it is listed, and its server receives the call. ' +
        '`unlisted`: its server receives the call, but it is not listed. `denied`: it is listed, ' +
        'but the call is denied. `hidden`: it is not listed, and the call is denied.',
    ),
  status: z.int().min(100).max(599).optional().describe('The status of the response.'),
  closed: z
    .literal(true)
    .optional()
    .describe('The connection is closed before any byte of a response is sent.'),
  because: z
    .string()
    .optional()
    .describe(
      'The reason for the decision: `Deny[0] matches`, `Require[0] is false`, `no Allow matches`, …',
    ),
  policy: z.string().optional().describe('The policy of the rule that decided.'),
  stage: z
    .enum(['connection', 'traffic', 'backend', 'mcp'])
    .optional()
    .describe('The stage of the decision.'),
  headers: z
    .record(z.string(), z.string().nullable())
    .optional()
    .describe('Headers of the response; `null`: the header must be absent.'),
  body: z.string().optional().describe('A string that the response body must contain.'),
  upstream: z
    .union([upstream, z.literal(false)])
    .optional()
    .describe('The request that the backend received; `false`: no backend received it.'),
})

const mcp = oneOfKeys(
  z.strictObject({
    tool: z.string().min(1).optional().describe('The name of a tool, as clients use it.'),
    prompt: z.string().min(1).optional().describe('The name of a prompt.'),
    resource: z.string().min(1).optional().describe('The URI of a resource.'),
    arguments: z
      .record(z.string(), z.json())
      .optional()
      .describe('The arguments of the tool or the prompt.'),
  }),
  ['tool', 'prompt', 'resource'],
)

const request = z.strictObject({
  name: z
    .string()
    .optional()
    .describe('The name of the case; derived from the request by default.'),
  listener: z
    .string()
    .optional()
    .describe('A gateway, a listener, or `gateway/listener`; the first one by default.'),
  as: z
    .union([z.string(), claims])
    .optional()
    .describe(
      'The caller: a name from `identities`, or the claims of a token. No token by default.',
    ),
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
    .describe('The kind of token to send, with the claims of `as`.'),
  method: z.string().default('GET').describe('The method.'),
  path: z
    .string()
    .default('/')
    .describe('The path and query, sent as written. With `mcp`, the default is `/mcp`.'),
  host: z.string().default('example.com').describe('The host to request.'),
  headers: headers.default({}).describe('The headers. Use a list for several values of one name.'),
  body: z.string().optional().describe('The body.'),
  mcp: mcp
    .optional()
    .describe(
      'Instead of `method` and `body`: lists the tools, prompts or resources, then calls, gets or ' +
        'reads the one specified.',
    ),
  from: address
    .optional()
    .describe(
      'The client address. Addresses in 127.0.0.0/8 are bound; others are sent with the PROXY protocol.',
    ),
  sni: z
    .union([z.string(), z.literal(false)])
    .optional()
    .describe('The TLS server name (SNI), `host` by default; `false`: not sent.'),
  certificate: certificate.optional().describe('A client certificate that the listener trusts.'),
  expect: z
    .union([z.int().min(100).max(599), z.literal('closed'), mcpOutcome, outcome])
    .describe(
      'The expected outcome: a status, `closed`, a value of `expect.mcp`, or an object with details.',
    ),
  because: z.string().optional().describe('The same as `expect.because`.'),
})

const invariant = z.strictObject({
  name: z.string().min(1).describe('A description of the invariant.'),
  on: z
    .strictObject({
      listener: z.string().optional().describe('A gateway, `gateway/listener`, or a listener.'),
      route: z.string().optional().describe('A route.'),
      backend: z.string().optional().describe('A backend.'),
    })
    .default({})
    .describe(
      'The listener, route or backend that the invariant applies to; everywhere by default.',
    ),
  when: z
    .string()
    .optional()
    .describe(
      'A CEL expression that selects the requests the invariant applies to; all by default.',
    ),
  admitted: z
    .union([z.string(), z.boolean()])
    .describe(
      'A CEL expression that must be true for every admitted request; `false`: no request may be admitted.',
    ),
})

export const suiteSchema = z
  .strictObject({
    name: z.string().min(1).describe('The name of the test file in reports.'),
    config: z
      .union([z.string().min(1), z.record(z.string(), z.json())])
      .describe(
        'The configuration: a file path relative to this file, or the configuration itself.',
      ),
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
            .describe('The body, or the result of MCP tools; the name of the backend by default.'),
          tools: z
            .array(z.string().min(1))
            .optional()
            .describe('Tools of an MCP server, in addition to those in its pins and in the cases.'),
        }),
      )
      .default({})
      .describe('Responses of the test backends; 200 with the name of the backend by default.'),
    requests: z.array(request).default([]).describe('The cases, run in this order.'),
    invariants: z
      .array(invariant)
      .default([])
      .describe('Properties of all requests, proven rather than tested.'),
  })
  .check(({ value, issues }) => {
    for (const [index, one] of value.requests.entries()) {
      if (expectedOf(one).mcp === undefined || one.mcp !== undefined) continue
      const hint = 'specify a tool, a prompt or a resource in `mcp`'
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

/** Normalizes the forms of `expect`. */
export function expectedOf({ expect, because }: Case): Expected {
  const own = typeof expect === 'object' ? expect : expectedBy(expect)
  return because === undefined ? own : { ...own, because }
}

function expectedBy(expect: Exclude<Case['expect'], object>): Expected {
  if (typeof expect === 'number') return { status: expect }
  return expect === 'closed' ? { closed: true } : { mcp: expect }
}
