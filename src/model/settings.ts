import type { JsonValue } from './json.ts'
import type { Material, Secret } from './material.ts'

/**
 * The process itself, not what it serves: read once, at startup, from a file. Only modelCatalog
 * takes effect while the process runs. Times are in milliseconds, sizes in bytes.
 */
export interface Settings {
  readonly workers: number | 'auto'
  readonly enableIpv6: boolean
  readonly admin: Address
  readonly adminAuth?: AdminAuthSettings
  readonly stats: Address
  readonly readiness: Address
  readonly dns: DnsSettings
  readonly logging: LoggingSettings
  readonly metrics: MetricsSettings
  readonly drain: DrainSettings
  readonly limits: LimitSettings
  readonly decisions: DecisionSettings
  readonly upstream: UpstreamSettings
  readonly storage: { readonly mode: 'readonly' | 'database' }
  readonly database?: DatabaseSettings
  readonly session?: { readonly key: Secret }
  readonly mcp: { readonly sessionTtl: number }
  readonly modelCatalog: readonly CatalogSource[]
  /** Where the usage of model calls is stored; by default in the database, if there is one. */
  readonly budgets: { readonly file?: string }
  /** Where users' tokens for backends are stored; by default in the database, if there is one. */
  readonly userTokens: { readonly file?: string }
  /** Names of headers, in lower case, whose values are never written to logs and records. */
  readonly sensitiveHeaders: readonly string[]
  readonly standardAttributes: { readonly user?: string; readonly group?: string }
}

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'off' }

/** Whether only this machine can connect to the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Who may use the admin API, in addition to clients with its token. */
export interface AdminAuthSettings {
  readonly oidc: {
    readonly issuer: string
    readonly clientId: string
    readonly clientSecret?: Secret
    readonly redirectUri: string
    readonly scopes: readonly string[]
  }
  /** Role → expression over `jwt`. */
  readonly roles: { readonly viewer?: string; readonly editor?: string; readonly admin?: string }
}

export interface DnsSettings {
  readonly lookupFamily: 'All' | 'Auto' | 'V4Preferred' | 'V4Only' | 'V6Only'
  /** `address:port` of name servers to use instead of the machine's. */
  readonly servers?: readonly string[]
}

export interface LoggingSettings {
  readonly format: 'text' | 'json'
  readonly level: 'error' | 'warn' | 'info' | 'debug' | 'trace'
}

export interface MetricsSettings {
  readonly histograms: 'classic' | 'native' | 'both'
  readonly remove: readonly string[]
  /** Label → expression. */
  readonly labels: Readonly<Record<string, string>>
}

export interface DrainSettings {
  readonly min: number
  readonly max: number
}

export interface LimitSettings {
  readonly connections: number
  readonly connectionsPerAddress: number
  /** Max number of concurrent requests in one process. */
  readonly requests: number
  /** Milliseconds of delay from which a process accepts fewer requests; 0: no limit. */
  readonly delay: number
}

export interface DecisionSettings {
  /** Records that each process keeps in memory. */
  readonly keep: number
  /** Attributes whose values are shown in records: `jwt.sub`, `request.headers['x-team']`. */
  readonly show: readonly string[]
  /** The share of allowed requests that is recorded. */
  readonly allowed: number
  readonly file?: DecisionFileSettings
}

export interface DecisionFileSettings {
  readonly path: string
  readonly maxSize: number
  readonly maxFiles: number
}

export interface DatabaseSettings {
  readonly url: Secret
  readonly maxConnections: number
  /** Where stored data is kept to survive a restart without the database. */
  readonly stateFile?: string
}

export interface UpstreamSettings {
  readonly connectTimeout: number
  readonly idleTimeout: number
  readonly maxAge: number
  readonly maxConnections?: number
  readonly keepalive: KeepaliveSettings
}

export interface KeepaliveSettings {
  readonly enabled: boolean
  readonly time: number
  readonly interval: number
  readonly retries: number
}

export type CatalogSource = Material | { readonly inline: JsonValue }
