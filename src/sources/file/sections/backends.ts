import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { success } from '../../../diagnostics/result.ts'
import type { Backend, Endpoint, UnixEndpoint } from '../../../model/backend.ts'
import type { BackendRef } from '../../../model/route.ts'
import {
  backendName,
  expression,
  type HostTarget,
  host,
  name,
  oneOfKeys,
  service,
} from '../../../policies/schema.ts'
import type { Placed } from '../../../reach/checks/draft.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import { aiSchema, readAi } from './ai.ts'
import { mcpBackendSchema, readMcpTargets } from './mcp.ts'

const KINDS = ['host', 'hosts', 'service', 'dynamic', 'ai', 'mcp']

const dynamic = z.strictObject({
  target: expression('string', 'traffic')
    .optional()
    .describe('A CEL expression that returns `host:port`. By default, the host of the request.'),
})

/** The kinds of backends; `ai` and `mcp` have named parts, which are read one by one. */
const simpleKinds = {
  host: host().optional().describe('The address: host:port, a URL or unix:/path.'),
  hosts: z
    .array(host())
    .min(1)
    .max(256)
    .optional()
    .describe('Several addresses that serve the same content.'),
  service: service().optional().describe('A Kubernetes Service.'),
  dynamic: dynamic
    .optional()
    .describe('A forward proxy: the address is determined for each request.'),
}

const kinds = () => ({
  ...simpleKinds,
  ai: aiSchema.optional().describe('An LLM provider or groups of providers.'),
  mcp: mcpBackendSchema.optional().describe('One or more MCP servers.'),
})

const policies = () =>
  policiesSchema(['backend'], 'backend')
    .optional()
    .describe('Policies for requests to this backend.')

export const backendSchema = oneOfKeys(
  z.strictObject({
    name: name().describe('The name that routes use to reference this backend.'),
    ...kinds(),
    policies: policies(),
  }),
  KINDS,
)

const refHead = {
  weight: z
    .int()
    .min(0)
    .max(1_000_000)
    .prefault(1)
    .describe('The share of traffic relative to the other backends.'),
}

const refShape = () => ({
  backend: backendName().optional().describe('The name of a backend.'),
  ...kinds(),
  name: name().optional().describe('The name of an inline backend.'),
  ...refHead,
  policies: policies(),
})

export const backendRefSchema = oneOfKeys(z.strictObject(refShape()), ['backend', ...KINDS]).meta({
  id: 'route-backend',
})

export const httpBackendRefSchema = oneOfKeys(
  z.strictObject({
    ...refShape(),
    routeGroup: name()
      .optional()
      .describe('A route group to delegate to. Must be the only entry in the list.'),
  }),
  ['backend', 'routeGroup', ...KINDS],
).meta({ id: 'http-route-backend' })

const headKinds = { ...simpleKinds, ai: z.unknown(), mcp: z.unknown() }
const nameHead = z.looseObject({ name: name() })
const backendHead = oneOfKeys(z.strictObject({ name: name(), ...headKinds }).partial(), KINDS)
const refSchema = oneOfKeys(
  z
    .strictObject({ backend: backendName(), name: name(), ...headKinds })
    .partial()
    .extend(refHead),
  ['backend', ...KINDS],
)
const AT_BACKEND = ['backend'] as const
const MAX_REFS = 64
const refList = z.array(z.unknown()).max(MAX_REFS)

/** Equals the check of the schema, which is slower. */
function isRefList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length <= MAX_REFS
}

/** Reads one entry of `backends`. */
export function readBackend(reading: Reading, node: SectionNode, fallback: string): Backend {
  const head = parseAt(reading, backendHead, node, { stage: 'backend', except: ['policies'] })
  const named = parseAt(reading, nameHead, node).value?.name ?? fallback
  const policies = readPolicies(reading, node.inner('policies'), {
    sections: AT_BACKEND,
    level: 'backend',
    policy: `backend:${named}`,
  })
  return toBackend(reading, node, head, { name: named, policies })
}

interface Refs {
  readonly refs: readonly BackendRef[]
  /** The backends defined in place. */
  readonly backends: readonly Placed<Backend>[]
  /** The reasons why the list could not be read. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Reads `backends` of a route. */
export function readBackendRefs(reading: Reading, node: SectionNode, route: string): Refs {
  const { value } = node
  if (value === undefined) return { refs: [], backends: [], diagnostics: [] }
  const list = isRefList(value) ? success(value) : parseAt(reading, refList, node)
  const read = (list.value ?? []).map((_, index) =>
    readBackendRef(reading, node.inner(index), `${route}/${index}`),
  )
  return {
    refs: read.map(({ ref }) => ref),
    backends: read.flatMap(({ backend }, index) =>
      backend === undefined ? [] : [{ thing: backend, place: node.inner(index).place }],
    ),
    diagnostics: list.diagnostics,
  }
}

function readBackendRef(reading: Reading, node: SectionNode, fallback: string) {
  const head = parseAt(reading, refSchema, node, {
    stage: 'backend',
    except: ['policies'],
    isRepeated: true,
  })
  const policies = readPolicies(reading, node.inner('policies'), {
    sections: AT_BACKEND,
    level: 'backend',
    policy: `routeBackend:${fallback}`,
  })
  const weight = head.value?.weight ?? 1
  const known = head.value?.backend
  if (known !== undefined) return { ref: { backend: known, weight, policies }, backend: undefined }
  const inPlace = head.value?.name ?? fallback
  const backend = toBackend(reading, node, head, { name: inPlace, policies: [] })
  return { ref: { backend: inPlace, weight, policies }, backend }
}

type Kinds = Partial<z.output<z.ZodObject<typeof simpleKinds>>> & {
  readonly ai?: unknown
  readonly mcp?: unknown
}

function toBackend(
  reading: Reading,
  node: SectionNode,
  head: { readonly value: Kinds | undefined; readonly diagnostics: readonly Diagnostic[] },
  rest: { readonly name: string; readonly policies: Backend['policies'] },
): Backend {
  const identity = { ...rest, origin: node.origin }
  const invalid = (diagnostics: readonly Diagnostic[]) =>
    ({ ...identity, kind: 'invalid', diagnostics }) as const
  if (head.value === undefined) return invalid(head.diagnostics)
  const { host, hosts, service, dynamic, ai } = head.value
  if (host?.kind === 'unix') return { ...identity, ...host }
  if (host !== undefined || hosts !== undefined) {
    const all = hosts ?? (host === undefined ? [] : [host])
    return { ...identity, kind: 'host', endpoints: all.map(withoutKind) }
  }
  if (service !== undefined) return { ...identity, ...service }
  if (dynamic !== undefined) {
    const { target } = dynamic
    return { ...identity, kind: 'dynamic', ...(target === undefined ? {} : { target }) }
  }
  const inner = ai === undefined ? readMcp() : readAi(reading, node.inner('ai'), rest.name)
  return 'diagnostics' in inner ? invalid(inner.diagnostics) : { ...identity, ...inner }

  function readMcp() {
    return readMcpTargets(reading, node.inner('mcp'), rest.name)
  }
}

function withoutKind(target: HostTarget): Endpoint | UnixEndpoint {
  if (target.kind === 'unix') return { path: target.path }
  const { kind: _, ...endpoint } = target
  return endpoint
}
