import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import { sentenceOf } from '../diagnostics/system-error.ts'
import { type Address, isLoopback } from '../model/settings.ts'

/** Handles the requests for one path. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
) => void | Promise<void>

/** Limits per server: slow clients are disconnected, and many clients cannot lock out others. */
export interface ServerBounds {
  /** Milliseconds until the head of a request, and the whole request, must be complete. */
  readonly head: number
  readonly request: number
  readonly connections: number
}

const UI_API = '/ui/api/'

const BOUNDS: ServerBounds = { head: 10_000, request: 60_000, connections: 512 }

/**
 * Starts a small HTTP server for operators: metrics, readiness, the admin API. Returns undefined if
 * it is off, and a Diagnostic if it cannot listen. `broke`: called with exceptions of handlers.
 * `isPrivate`: the data is only for operators, so Host is checked on every address. `api`: handles
 * everything below `/api/`, which is also at `/ui/api/`, with any method. `names`: further hostnames of the server.
 */
export async function serve(
  address: Address,
  responses: ReadonlyMap<string, RequestHandler>,
  origin: Origin,
  broke: (error: unknown) => void = () => {},
  isPrivate = false,
  api?: RequestHandler,
  names: readonly string[] = [],
  bounds: ServerBounds = BOUNDS,
): Promise<Server | Diagnostic | undefined> {
  if (address.kind === 'off') return undefined
  const checksHost = address.kind !== 'unix' && (isPrivate || isLoopback(address.host))
  const timeouts = {
    headersTimeout: bounds.head,
    requestTimeout: bounds.request,
    connectionsCheckingInterval: Math.min(bounds.head / 2, 5_000),
  }
  const server = createServer(timeouts, (request, response) => {
    if (checksHost && !isOwnName(request.headers.host ?? '', names)) {
      text(response, 421, 'use localhost, an IP address or the hostname of this machine\n')
      return
    }
    // Pages of the UI call the API below their own path, which is all that a gateway leads here.
    if (request.url?.startsWith(UI_API)) request.url = request.url.slice(UI_API.indexOf('/', 1))
    const path = (request.url ?? '/').split('?', 1)[0] as string
    if (api !== undefined && path.startsWith('/api/')) {
      void run(api, request, response, broke)
      return
    }
    const handler = responses.get(path) ?? nearestFolder(responses, path)
    if (handler === undefined) text(response, 404, `unknown path ${path}\n`)
    else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      text(response, 405, 'method not allowed; available: GET\n')
    } else void run(handler, request, response, broke)
  })
  server.keepAliveTimeout = 65_000
  server.maxConnections = bounds.connections
  const failure = await listen(server, address, origin)
  if (failure !== undefined) return failure
  server.unref()
  return server
}

/** An exception affects only one caller, and is reported. */
async function run(
  handler: RequestHandler,
  request: IncomingMessage,
  response: ServerResponse,
  broke: (error: unknown) => void,
): Promise<void> {
  try {
    await handler(request, response)
  } catch (error) {
    // A client that disconnects early is not an error.
    if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') return
    broke(error)
    if (response.headersSent) response.destroy()
    else text(response, 500, 'internal error: see the log\n')
  }
}

/**
 * Prevents DNS rebinding: a page in a browser may use its own name that resolves to this machine,
 * and would then get data that is only for the operator. It cannot use one of these names.
 */
export function isOwnName(host: string, names: readonly string[]): boolean {
  const name = host.replace(/:[0-9]*$/, '').toLowerCase()
  if (name.startsWith('[')) return name.endsWith(']') && isIP(name.slice(1, -1)) === 6
  // HTTP/1.0 does not require Host, but every browser sends it.
  const own = ['', 'localhost', hostname().toLowerCase(), ...names]
  return own.includes(name) || isIP(name) === 4
}

/** Returns undefined once the server listens. */
export async function listen(
  server: Server,
  address: Exclude<Address, { readonly kind: 'off' }>,
  origin: Origin,
): Promise<Diagnostic | undefined> {
  try {
    if (address.kind === 'unix') server.listen(address.path)
    else server.listen(address.port, boundTo(address.host))
    await once(server, 'listening')
    return undefined
  } catch (error) {
    const where = address.kind === 'unix' ? address.path : `${address.host}:${address.port}`
    const hint = HINTS[(error as NodeJS.ErrnoException).code ?? ''] ?? 'check the address'
    const message = `cannot listen on ${where}: ${sentenceOf(error)}`
    return { code: 'PC0401', severity: 'error', message, hint, origin }
  }
}

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'stop the process that listens there, or use another address',
  EACCES: 'use a port above 1023, or grant the process the capability NET_BIND_SERVICE',
}

/** localhost is this machine, even if the resolver fails or has no entry for it. */
function boundTo(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host
}

export function isListening(server: Server | Diagnostic | undefined): server is Server {
  return server !== undefined && !('code' in server)
}

/** `/ui/` handles everything below it, at any depth; `/` handles only itself. */
function nearestFolder(
  responses: ReadonlyMap<string, RequestHandler>,
  path: string,
): RequestHandler | undefined {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const handler = responses.get(path.slice(0, end + 1))
    if (handler !== undefined) return handler
  }
  return undefined
}

export function text(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' })
  response.end(body)
}

export function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify(value, undefined, 2)}\n`)
}
