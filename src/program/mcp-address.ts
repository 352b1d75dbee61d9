import type { Endpoint, McpTarget } from '../model/backend.ts'

/** The address of an MCP server. */
export type McpAddress =
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint; readonly path: string }
  | { readonly kind: 'backend'; readonly backend: string; readonly path: string }

interface AddressOptions {
  readonly host?: string
  readonly port?: number
  readonly path?: string
  readonly backend?: string
}

/** The default paths of MCP clients. */
const DEFAULT_PATHS = { mcp: '/mcp', sse: '/sse', openapi: '', stdio: '' } as const

/** Undefined if the target has no usable address. */
export function mcpAddress({ options, transport }: McpTarget): McpAddress | undefined {
  const { host, port, path, backend } = options as AddressOptions
  const usual = path ?? DEFAULT_PATHS[transport]
  if (backend !== undefined) return { kind: 'backend', backend, path: usual }
  if (host === undefined) return undefined
  const written = /^https?:\/\//.test(host) ? host : `http://${host}`
  if (!URL.canParse(written)) return undefined
  const { protocol, hostname, port: own, pathname, search } = new URL(written)
  const isSecure = protocol === 'https:'
  const endpoint = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(own) || port || (isSecure ? 443 : 80),
    scheme: isSecure ? 'https' : 'http',
  } as const
  const given = pathname === '/' && search === '' ? usual : `${pathname}${search}`
  return { kind: 'endpoint', endpoint, path: path ?? given }
}
