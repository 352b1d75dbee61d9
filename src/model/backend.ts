import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { JsonObject } from './json.ts'
import type { Material } from './material.ts'
import type { Attached } from './policy.ts'
import type { ValueMatch } from './route.ts'

export type Backend =
  | HostBackend
  | UnixBackend
  | AdminBackend
  | ServiceBackend
  | DynamicBackend
  | AiBackend
  | McpBackend
  | InvalidBackend

interface BackendIdentity {
  readonly name: string
  readonly origin: Origin
  readonly policies: readonly Attached[]
}

/** One or more equivalent addresses. */
export interface HostBackend extends BackendIdentity {
  readonly kind: 'host'
  readonly endpoints: readonly (Endpoint | UnixEndpoint)[]
}

export interface UnixEndpoint {
  readonly path: string
}

export interface Endpoint {
  /** A hostname or an IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** Set if the address was written as a URL; `https` enables TLS. */
  readonly scheme?: 'http' | 'https'
}

export interface UnixBackend extends BackendIdentity {
  readonly kind: 'unix'
  readonly path: string
}

/** The admin API and the Admin UI of the gateway itself: its main process serves them. */
export interface AdminBackend extends BackendIdentity {
  readonly kind: 'admin'
}

export interface ServiceBackend extends BackendIdentity {
  readonly kind: 'service'
  readonly service: string
  readonly namespace: string
  readonly port: number
}

/** The address is computed for each request, or taken from the request itself. */
export interface DynamicBackend extends BackendIdentity {
  readonly kind: 'dynamic'
  readonly target?: string
}

/** Groups are in order of priority: if a group cannot serve a request, the next one does. */
export interface AiBackend extends BackendIdentity {
  readonly kind: 'ai'
  readonly groups: readonly AiGroup[]
  /**
   * Paths, such as batches and files, that are allowed although rules about models cannot see which
   * model they use; each includes everything below it.
   */
  readonly allowEndpoints?: readonly string[]
  /** Clients choose by model name. If absent, any provider serves any model. */
  readonly models?: readonly AiModel[]
  readonly virtualModels?: readonly VirtualModel[]
}

/** A model that clients can request, and the provider that serves it. */
export interface AiModel {
  /** May have a `*` at one end. */
  readonly name: string
  /** The name of one of the backend's providers. */
  readonly provider: string
  /** Clients cannot request it directly; virtual models lead to it. */
  readonly isInternal: boolean
  /** One of these must match; within one, all headers must. If absent, every request matches. */
  readonly matches?: readonly (readonly ValueMatch[])[]
}

/** A name for a choice among models. */
export interface VirtualModel {
  readonly name: string
  readonly origin: Origin
  readonly routing: 'weighted' | 'failover' | 'conditional'
  readonly targets: readonly VirtualTarget[]
}

export interface VirtualTarget {
  readonly provider: string
  /** The model name sent to the provider, unless the provider has its own name for it. */
  readonly model: string
  readonly weight?: number
  readonly priority?: number
  /** If absent, always. */
  readonly when?: string
}

export interface AiGroup {
  readonly providers: readonly AiProvider[]
}

export interface AiProvider {
  readonly name: string
  readonly origin: Origin
  /** `openAI`, `anthropic`, …: defined in protocols/llm. */
  readonly provider: string
  readonly endpoint: Endpoint
  readonly options: JsonObject
  readonly policies: readonly Attached[]
}

export interface McpBackend extends BackendIdentity {
  readonly kind: 'mcp'
  readonly targets: readonly McpTarget[]
  readonly options: JsonObject
}

export interface McpTarget {
  readonly name: string
  readonly origin: Origin
  readonly transport: 'mcp' | 'sse' | 'stdio' | 'openapi'
  readonly options: JsonObject
  readonly policies: readonly Attached[]
  /** Tools that are not approved are hidden or reported, depending on the mode. */
  readonly pins?: McpPins
}

export interface McpPins {
  readonly mode: 'Enforce' | 'Audit'
  /** Parsed by protocols/mcp/schema.ts. */
  readonly file: Material
}

/** Responds with 500 to its share of the requests. */
export interface InvalidBackend extends BackendIdentity {
  readonly kind: 'invalid'
  readonly diagnostics: readonly Diagnostic[]
}

/** The parts of a backend that have their own policies: providers or MCP servers. */
export function partsOf(backend: Backend): readonly (AiProvider | McpTarget)[] {
  if (backend.kind === 'ai') return backend.groups.flatMap(({ providers }) => providers)
  return backend.kind === 'mcp' ? backend.targets : []
}

/** The target of a policy's calls: a backend by name, or an address. */
export type Target =
  | { readonly kind: 'backend'; readonly backend: string }
  | ({ readonly kind: 'host' } & Endpoint)
  | { readonly kind: 'unix'; readonly path: string }
  | {
      readonly kind: 'service'
      readonly service: string
      readonly namespace: string
      readonly port: number
    }
