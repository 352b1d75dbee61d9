import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { JsonObject } from './json.ts'
import type { Material } from './material.ts'
import type { Attached } from './policy.ts'
import type { ValueMatch } from './route.ts'

export type Backend =
  | HostBackend
  | UnixBackend
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

/** One or more addresses that serve the same thing. */
export interface HostBackend extends BackendIdentity {
  readonly kind: 'host'
  readonly endpoints: readonly (Endpoint | UnixEndpoint)[]
}

export interface UnixEndpoint {
  readonly path: string
}

export interface Endpoint {
  /** A name or an IP address, the latter without brackets. */
  readonly host: string
  readonly port: number
  /** Set where it was written as a URL: `https://…` asks for TLS. */
  readonly scheme?: 'http' | 'https'
}

export interface UnixBackend extends BackendIdentity {
  readonly kind: 'unix'
  readonly path: string
}

export interface ServiceBackend extends BackendIdentity {
  readonly kind: 'service'
  readonly service: string
  readonly namespace: string
  readonly port: number
}

/** The address is computed for each request, or is what the request itself asks for. */
export interface DynamicBackend extends BackendIdentity {
  readonly kind: 'dynamic'
  readonly target?: string
}

/** Groups are priorities: the next one serves when the one before cannot. */
export interface AiBackend extends BackendIdentity {
  readonly kind: 'ai'
  readonly groups: readonly AiGroup[]
  /**
   * Paths that are allowed although rules about models cannot see which model is used there, as batches and
   * files; with all that is below them.
   */
  readonly allowEndpoints?: readonly string[]
  /** Clients choose by the name of the model; absent: any provider serves any model. */
  readonly models?: readonly AiModel[]
  readonly virtualModels?: readonly VirtualModel[]
}

/** A model that clients can ask for, and the provider that serves it. */
export interface AiModel {
  /** With a `*` at most at one end. */
  readonly name: string
  /** The name of the provider among those of the backend. */
  readonly provider: string
  /** Clients cannot ask for it; virtual models lead to it. */
  readonly isInternal: boolean
  /** Any of these; absent: every request. Of one, all headers. */
  readonly matches?: readonly (readonly ValueMatch[])[]
}

/** A name that stands for a choice among models. */
export interface VirtualModel {
  readonly name: string
  readonly origin: Origin
  readonly routing: 'weighted' | 'failover' | 'conditional'
  readonly targets: readonly VirtualTarget[]
}

export interface VirtualTarget {
  readonly provider: string
  /** As its provider is asked for it, if the provider does not have a name of its own for it. */
  readonly model: string
  readonly weight?: number
  readonly priority?: number
  /** Absent: always. */
  readonly when?: string
}

export interface AiGroup {
  readonly providers: readonly AiProvider[]
}

export interface AiProvider {
  readonly name: string
  readonly origin: Origin
  /** `openAI`, `anthropic`, …: protocols/llm knows them. */
  readonly provider: string
  /** What it is asked at, and asked for. */
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
  /** Tools other than the approved ones are hidden, or reported. */
  readonly pins?: McpPins
}

export interface McpPins {
  readonly mode: 'Enforce' | 'Audit'
  /** protocols/mcp/schema.ts reads it. */
  readonly file: Material
}

/** Responds with 500 to what would have been its share. */
export interface InvalidBackend extends BackendIdentity {
  readonly kind: 'invalid'
  readonly diagnostics: readonly Diagnostic[]
}

/** What has policies of its own within a backend: providers, or MCP servers. */
export function partsOf(backend: Backend): readonly (AiProvider | McpTarget)[] {
  if (backend.kind === 'ai') return backend.groups.flatMap(({ providers }) => providers)
  return backend.kind === 'mcp' ? backend.targets : []
}

/** What a policy calls: a backend by name, or an address of its own. */
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
