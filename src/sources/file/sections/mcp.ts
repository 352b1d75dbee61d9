import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import type { McpTarget } from '../../../model/backend.ts'
import type { JsonObject } from '../../../model/json.ts'
import {
  aliased,
  backendName,
  choice,
  file,
  name,
  oneOfKeys,
  textOrFile,
  url,
} from '../../../policies/schema.ts'
import { readDocument } from '../../../protocols/mcp/openapi/schema.ts'
import { readPinFile } from '../../../protocols/mcp/schema.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'

const address = {
  host: z.string().min(1).max(2048).optional().describe('The address: host:port or a URL.'),
  port: z.int().min(1).max(65_535).optional().describe('The port.'),
  path: z.string().regex(/^\//).optional().describe('The path.'),
  backend: backendName().optional().describe('The name of a backend, instead of `host`.'),
}

const remote = () => oneOfKeys(z.strictObject(address), ['host', 'backend'])

const stdio = aliased(
  {
    cmd: z.string().min(1).describe('The program to run.'),
    args: z.array(z.string()).prefault([]).describe('The arguments of the program.'),
    env: z
      .record(z.string(), z.string())
      .prefault({})
      .describe('Additional environment variables.'),
    clearEnv: z
      .boolean()
      .prefault(false)
      .describe(
        'Start the program without `PATH`, `HOME`, `LANG` and `TMPDIR`, which are the only variables that it otherwise inherits.',
      ),
  },
  { clear_env: 'clearEnv' },
)

function apiProblem(text: string) {
  const problem = readDocument(text)
  if (typeof problem !== 'string') return undefined
  return { message: `this is not an OpenAPI 3 document: ${problem}`, hint: 'check the document' }
}

const openapi = oneOfKeys(
  z.strictObject({
    ...address,
    schema: z
      .union([
        textOrFile(apiProblem),
        z.strictObject({ url: url().describe('The URL to fetch the document from.') }),
      ])
      .describe('The OpenAPI document in JSON or YAML: a string, `{file}` or `{url}`.'),
  }),
  ['host', 'backend'],
)

const transports = {
  mcp: remote().optional().describe('Streamable HTTP.'),
  sse: remote().optional().describe('The older HTTP+SSE transport.'),
  stdio: stdio
    .optional()
    .describe('A local program that communicates over standard input and output.'),
  openapi: openapi.optional().describe('An HTTP API whose operations are exposed as tools.'),
}

const pinFile = () =>
  file((text) => {
    const problem = readPinFile(text)
    if (typeof problem !== 'string') return undefined
    const message = `this is not a pin file: ${problem}`
    return { message, hint: 'create it with `portcullis pin`' }
  })

const pins = z.strictObject({
  mode: choice('Enforce', 'Audit')
    .prefault('Enforce')
    .describe(
      'Enforce: tools that are new or that differ from their pins are hidden from clients. Audit: ' +
        'they are reported.',
    ),
  file: pinFile().describe('The path of the file that `portcullis pin` writes.'),
})

const TRANSPORTS = ['mcp', 'sse', 'stdio', 'openapi'] as const

const head = {
  // These characters terminate the server name in the tool names that clients see.
  name: name()
    .check(({ value, issues }) => {
      if (!/[_+]/.test(value)) return
      const message = 'the name of an MCP server must not contain `_` or `+`'
      issues.push({ code: 'custom', input: value, message, params: { rule: 'malformed' } })
    })
    .describe(
      'The name of the server, used as a prefix of its tool names. Must not contain `_` or `+`.',
    ),
  ...transports,
  pins: pins
    .optional()
    .describe(
      'The approved tools, as digests of their titles, descriptions, schemas and annotations.',
    ),
}

const target = oneOfKeys(
  z.strictObject({
    ...head,
    policies: policiesSchema(['backend'], 'backend')
      .optional()
      .describe('Policies for requests to this server.'),
  }),
  [...TRANSPORTS],
).meta({ id: 'mcp-target' })

export const mcpOptions = {
  statefulMode: choice('Stateful', 'Stateless')
    .prefault('Stateful')
    .describe('Whether the gateway keeps sessions.'),
  prefixMode: choice('Conditional', 'Always', 'Never')
    .prefault('Conditional')
    .describe(
      'When tool names are prefixed with the name of their server. Conditional: if there are several servers.',
    ),
  failureMode: choice('FailClosed', 'FailOpen')
    .prefault('FailClosed')
    .describe('Whether lists and the handshake fail when a single server fails.'),
  dnsRebindingProtection: z
    .boolean()
    .optional()
    .describe(
      'true rejects requests whose Host or Origin header does not name the local machine (403). By default, an Origin must be that of the request or one that `cors` or `csrf` allows, and a request from a program on the same machine must name this machine or a configured hostname. false does not check the Host.',
    ),
}

export const mcpTargets = () => z.array(target).min(1).max(128).describe('The MCP servers.')

export const mcpBackendSchema = z
  .strictObject({ targets: mcpTargets(), ...mcpOptions })
  .meta({ id: 'mcp-backend' })

const targetHead = oneOfKeys(z.strictObject(head), [...TRANSPORTS])
const outline = z.strictObject({ targets: z.array(z.unknown()).min(1).max(128), ...mcpOptions })

type ReadMcp =
  | { readonly kind: 'mcp'; readonly targets: readonly McpTarget[]; readonly options: JsonObject }
  | { readonly diagnostics: readonly Diagnostic[] }

/** Reads `mcp` of a backend. */
export function readMcpTargets(
  reading: Reading,
  node: SectionNode,
  backend: string,
  others: readonly string[] = [],
): ReadMcp {
  const parsed = parseAt(reading, outline, node, { except: ['policies', ...others] })
  if (parsed.value === undefined) return { diagnostics: parsed.diagnostics }
  const { targets: list, ...options } = parsed.value
  const problems: Diagnostic[] = []
  const targets = list.flatMap((_, index): readonly McpTarget[] => {
    const at = node.inner('targets', index)
    const { value, diagnostics } = parseAt(reading, targetHead, at, {
      stage: 'backend',
      except: ['policies'],
    })
    problems.push(...diagnostics)
    if (value === undefined) return []
    const transport = TRANSPORTS.find((kind) => value[kind] !== undefined) ?? 'mcp'
    const policies = readPolicies(reading, at.inner('policies'), {
      sections: ['backend'],
      level: 'backend',
      policy: `target:${backend}/${value.name}`,
    })
    const origin = at.origin
    const own = value[transport] as unknown as JsonObject
    const pinned = value.pins === undefined ? {} : { pins: value.pins }
    return [{ name: value.name, origin, transport, options: own, policies, ...pinned }]
  })
  return problems.length > 0 ? { diagnostics: problems } : { kind: 'mcp', targets, options }
}
