import type { EndedSessions } from '../../exchange/ended-sessions.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { MessageStreams } from '../../exchange/message-streams.ts'
import type { JsonObject } from '../../model/json.ts'
import { boundMessages } from './bounded-server.ts'
import { Catalog } from './catalog.ts'
import { catchThrows } from './caught-events.ts'
import { serveMcp } from './endpoint.ts'
import { acceptedHosts } from './foreign-pages.ts'
import { type GuardsFor, guardServer } from './guarded-server.ts'
import { HeldMcpServer } from './held-server.ts'
import { HttpMcpServer, type HttpServerOptions } from './http-server.ts'
import { Names } from './names.ts'
import { ApiDocument, type DocumentSource } from './openapi/document.ts'
import { ApiMcpServer } from './openapi/server.ts'
import { type PinOptions, Pins } from './pins.ts'
import { Seal } from './seal.ts'
import type { McpServer, Sending } from './server.ts'
import type { EndpointPlan, McpResponder, McpRules } from './serving.ts'
import { MAX_STREAMS, sseChannels } from './sse-server.ts'
import { connectionScope } from './stateless/scope.ts'
import { type StdioServerOptions, stdioServer } from './stdio-server.ts'

export interface McpEndpointOptions<P> {
  /** The name of the backend. */
  readonly name: string
  readonly servers: readonly ServerOptions[]
  /** As configured: `prefixMode`, `failureMode`, … */
  readonly options: JsonObject
  readonly sealKey: Uint8Array
  readonly streams: MessageStreams
  readonly ended: EndedSessions
  readonly rules: McpRules<P>
  /** The guards for texts of calls and results. */
  readonly guardsFor: GuardsFor
}

export type HttpServer = { readonly kind: 'http' } & HttpServerOptions
export type ApiServer = {
  readonly kind: 'openapi'
  readonly source: DocumentSource
  /** The path of the API, if configured. */
  readonly basePath: string | undefined
  readonly heldDocument: HeldDocument
} & HttpServerOptions
export type SseServer = {
  readonly kind: 'sse'
  readonly held: HeldServer
  /** How long an unused stream is kept, in milliseconds. */
  readonly sessionTtl: number
} & HttpServerOptions
export type StdioServer = {
  readonly kind: 'stdio'
  readonly held: HeldServer
} & Omit<StdioServerOptions, 'ended'>

export type ServerOptions = (HttpServer | ApiServer | SseServer | StdioServer) & {
  readonly pins: PinOptions | undefined
}

/** State that survives reloads: a description that may have been fetched. */
export interface HeldDocument {
  document: ApiDocument | undefined
}

/** State that survives reloads: a server with its own processes or streams. */
export interface HeldServer {
  server: HeldMcpServer<never> | undefined
  isClosed: boolean
}

export interface McpEndpoint {
  /** Serves a client's request whose body has been read. */
  serve(exchange: Exchange, responder: McpResponder): Sending
}

export function createMcpEndpoint<P>(given: McpEndpointOptions<P>): McpEndpoint {
  const { name, options, sealKey, rules, guardsFor } = given
  const servers = given.servers.map((own) =>
    catchThrows(guardServer(boundMessages(openServer<P>(own, given.ended)), guardsFor)),
  )
  const { prefixMode, failureMode } = options
  const isPrefixed = prefixMode === 'Always' || (prefixMode !== 'Never' && given.servers.length > 1)
  const plan: EndpointPlan<P> = {
    name,
    servers,
    names: new Names(
      given.servers.map((own) => own.name),
      isPrefixed,
    ),
    catalog: new Catalog(),
    pins: given.servers.map((own) => own.pins && new Pins(own.pins)),
    rules,
    seal: new Seal(sealKey),
    streams: given.streams,
    ended: given.ended,
    failsOpen: failureMode === 'FailOpen',
    keepsInitialize: given.servers.some(({ kind }) => kind === 'stdio' || kind === 'sse'),
    identity: { name: 'portcullis', version: '1' },
    hosts: acceptedHosts(options),
  }
  return { serve: (exchange, responder) => serveMcp(plan, exchange, responder) }
}

function openServer<P>(options: ServerOptions, ended: EndedSessions): McpServer<P> {
  if (options.kind === 'http') return new HttpMcpServer<P>(options)
  if (options.kind === 'openapi') {
    const { heldDocument, source } = options
    heldDocument.document ??= new ApiDocument(source)
    return new ApiMcpServer<P>({ ...options, document: heldDocument.document })
  }
  const { held } = options
  const known = held.server as HeldMcpServer<P> | undefined
  const server =
    known ??
    (options.kind === 'sse' ? sseServer<P>(options, ended) : stdioServer<P>({ ...options, ended }))
  if (options.kind === 'sse') server.update(sseChannels(options))
  held.server = server as HeldMcpServer<never>
  if (held.isClosed) server.close()
  return server
}

function sseServer<P>(options: SseServer, ended: EndedSessions): HeldMcpServer<P> {
  const { name, sessionTtl } = options
  return new HeldMcpServer({
    name,
    sessionTtl,
    maxSessions: MAX_STREAMS,
    ended,
    openChannel: sseChannels(options),
    scopeOf: connectionScope,
  })
}
