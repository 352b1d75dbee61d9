import * as z from 'zod'
import type { Backend } from '../../../model/backend.ts'
import type { Gateway } from '../../../model/gateway.ts'
import type { Section } from '../../../model/policy.ts'
import type { Match, Route } from '../../../model/route.ts'
import { name, port } from '../../../policies/schema.ts'
import type { Placed } from '../../../reach/checks/draft.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import { portOf, toListener } from './gateways.ts'
import { mcpOptions, mcpTargets, readMcpTargets } from './mcp.ts'

/** Expands `mcp` into a route to a backend of MCP servers, and a port if it has one. */
export interface ReadMcpSection {
  readonly gateways: readonly Placed<Gateway>[]
  readonly routes: readonly Placed<Route>[]
  readonly backends: readonly Placed<Backend>[]
}

const NO_SECTION: ReadMcpSection = { gateways: [], routes: [], backends: [] }
const NAME = 'mcp'
const SECTIONS: readonly Section[] = ['traffic', 'backend']

/** The default port if a file defines no gateways. */
const DEFAULT_PORT = 3000
/** The paths that MCP clients use on a gateway shared with other routes. */
const SHARED_PATHS = ['/mcp']
/** The paths at which MCP clients look for the authorization server, if there is one. */
const METADATA_PATHS = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-authorization-server',
]

const head = {
  gateways: z
    .union([name(), z.array(name()).min(1).max(64)])
    .optional()
    .describe('The gateways to serve on. Default: `default`.'),
  port: port()
    .optional()
    .describe(
      'A dedicated port that serves MCP on every path. Defaults to 3000 if the file defines no gateways.',
    ),
}

export const mcpSchema = z.strictObject({
  ...head,
  targets: mcpTargets(),
  ...mcpOptions,
  policies: policiesSchema(SECTIONS, 'route').optional().describe('Policies for all servers.'),
})

const headSchema = z.looseObject(head)
const outline = mcpSchema.omit({ policies: true }).extend({ targets: z.unknown() })

export function readMcpSection(reading: Reading): ReadMcpSection {
  const node = reading.root.inner('mcp')
  if (node.value === undefined) return NO_SECTION
  parseAt(reading, outline, node, { stage: 'mcp', except: ['policies'] })
  const { value } = parseAt({ ...reading, report: () => {} }, headSchema, node, { stage: 'mcp' })
  const policies = readPolicies(reading, node.inner('policies'), {
    sections: SECTIONS,
    level: 'route',
    policy: `route:${NAME}`,
  })
  const read = readMcpTargets(reading, node, NAME, Object.keys(head))
  const { origin, place } = node
  const identity = { name: NAME, origin, policies: [] }
  const backend: Backend =
    'diagnostics' in read
      ? { ...identity, kind: 'invalid', diagnostics: read.diagnostics }
      : { ...identity, ...read }
  const own = portOf(reading, value, DEFAULT_PORT)
  const listed = value?.gateways ?? ['default']
  const shared = typeof listed === 'string' ? [listed] : listed
  const route: Route = {
    name: NAME,
    origin,
    parents: (own === undefined ? shared : [NAME]).map((gateway) => ({ gateway })),
    hostnames: [],
    policies,
    rules: [
      {
        name: NAME,
        origin,
        matches: (own === undefined ? sharedPaths(policies) : ['/']).map(below),
        policies: [],
        action: { kind: 'forward', backends: [{ backend: NAME, weight: 1, policies: [] }] },
      },
    ],
  }
  const placed = <T>(thing: T): Placed<T> => ({ thing, place })
  const gateways = own === undefined ? [] : [gatewayOf(reading, node, own)]
  return { gateways, routes: [placed(route)], backends: [placed(backend)] }
}

function sharedPaths(policies: Route['policies']): readonly string[] {
  const hasMetadata = policies.some(
    (policy) =>
      policy.state === 'valid' &&
      (policy.value as { resourceMetadata?: unknown } | null)?.resourceMetadata !== undefined,
  )
  return hasMetadata ? [...SHARED_PATHS, ...METADATA_PATHS] : SHARED_PATHS
}

function below(value: string): Match {
  return { path: { kind: 'prefix', value }, headers: [], query: [] }
}

function gatewayOf(reading: Reading, node: SectionNode, own: number): Placed<Gateway> {
  const read = { value: { port: own }, diagnostics: [] }
  const listener = toListener(reading, node, read, { name: 'default', policies: [] })
  const { place } = node
  const gateway = { name: NAME, origin: place.origin, listeners: [listener], policies: [] }
  return { thing: gateway, place }
}
