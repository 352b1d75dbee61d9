import type { Exchange } from '../../exchange/exchange.ts'
import { NO_EDIT } from '../../exchange/header-edit.ts'
import { McpRecord } from '../../exchange/mcp-record.ts'
import { reply } from '../../exchange/reply.ts'
import { callerOf } from '../caller.ts'
import { serveBatch } from './batch.ts'
import { consentForm } from './consent.ts'
import { CODES, errorReply } from './errors.ts'
import { arrivalOf } from './foreign-pages.ts'
import { claimedVersion } from './header-check.ts'
import { isLegacy, openStream, postToStream } from './legacy.ts'
import { listenToAll } from './listen.ts'
import type { ClientMessage } from './message.ts'
import { serveMessage } from './messages.ts'
import { recording } from './recording.ts'
import { BATCH_REVISIONS, HANDSHAKE_REVISIONS, isModern } from './revisions.ts'
import { envelopeOf } from './sent.ts'
import type { Sending } from './server.ts'
import { type EndpointPlan, type McpResponder, onDone, Sendings, type Serving } from './serving.ts'
import { openSession } from './session.ts'
import { endAtServers } from './session-end.ts'
import {
  isBatch,
  NO_BATCH,
  NOT_ALLOWED,
  readPost,
  readPosts,
  rejectedRequest,
  withoutSession,
} from './well-formed.ts'

/** Serves a client's request, with its body, to a backend of MCP servers. */
export function serveMcp<P>(
  plan: EndpointPlan<P>,
  exchange: Exchange,
  client: McpResponder,
): Sending {
  const sendings = new Sendings()
  const record = new McpRecord()
  exchange.mcpRecord = record
  const responder = recording(record, client)
  const { method, headers } = exchange.request
  const rejected = rejectedRequest(exchange.request, arrivalOf(exchange), plan.hosts)
  if (rejected !== undefined) {
    responder.reply(rejected)
    return sendings
  }
  const caller = callerOf(exchange)
  const id = headers.get('mcp-session-id')
  const opened = id === undefined ? undefined : openSession(plan.seal, id, plan.name, caller)
  const session = opened !== undefined && plan.ended.has(opened.key) ? undefined : opened
  if (id !== undefined && session === undefined) {
    const error = { code: CODES.sessionNotFound, message: 'Session not found' }
    record.session = 'refused'
    responder.reply(errorReply(404, 'null', error))
    return sendings
  }
  const version = headers.get('mcp-protocol-version')
  const serving: Serving<P> = {
    plan,
    exchange,
    responder,
    caller,
    session,
    version,
    meta: undefined,
    consent: undefined,
    sendings,
    record,
  }
  switch (method) {
    case 'POST':
      post(serving)
      break
    case 'GET':
      if (isLegacy(serving)) openStream(serving)
      else listenToAll(serving)
      break
    case 'DELETE':
      endSession(serving)
      break
    default:
      responder.reply(NOT_ALLOWED)
  }
  return sendings
}

function post<P>(serving: Serving<P>): void {
  const { exchange, responder } = serving
  const isOld = isLegacy(serving)
  if (takesBatches(serving) && isBatch(exchange.request)) {
    const messages = readPosts(exchange.request)
    if ('status' in messages) responder.reply(messages)
    else if (!isOld) serveBatch(serving, messages, serveMessage)
    else postBatch(serving, messages)
    return
  }
  const message = readPost(exchange.request, isOld)
  if ('status' in message) {
    responder.reply(message)
    return
  }
  const version = unknownVersion(serving, message)
  if (version !== undefined) {
    const text = `Bad Request: Unsupported protocol version: ${version}`
    responder.reply(errorReply(400, 'null', { code: -32000, message: text }))
    return
  }
  if (message.kind === 'request') serving.record.method = message.method
  const consent = consentForm(message, serving.session)
  const whole = { ...serving, meta: envelopeOf(message), consent }
  if (!isOld) serveMessage(whole, message)
  else {
    const isHandshake = () => message.method === 'initialize'
    postToStream(whole, (own) => serveMessage(own, message), isHandshake)
  }
}

/** The stream knows the revision of its session. */
function postBatch<P>(serving: Serving<P>, messages: readonly ClientMessage[]): void {
  const serve = (own: Serving<P>) => {
    if (takesBatches(own)) serveBatch(own, messages, serveMessage, 'stream')
    else own.responder.reply(NO_BATCH)
  }
  postToStream(serving, serve, () => false)
}

/** Clients without a revision header speak one that has batches, unless their session differs. */
function takesBatches<P>({ session, version }: Serving<P>): boolean {
  if (version !== undefined) return BATCH_REVISIONS.includes(version)
  const agreed = [...(session?.servers.values() ?? [])].map((own) => own.version)
  return agreed.every((own) => own === undefined || BATCH_REVISIONS.includes(own))
}

/**
 * Returns the revision in the header if it is one with a handshake that no server agreed to. A
 * single server reports this itself; each of several servers receives the revision that it agreed
 * to.
 */
function unknownVersion<P>(
  { plan, session, version }: Serving<P>,
  message: ClientMessage,
): string | undefined {
  if (plan.servers.length === 1 || version === undefined || isModern(version)) return undefined
  if (message.method === 'initialize' || claimedVersion(message) !== undefined) return undefined
  const agreed = [...(session?.servers.values() ?? [])].map((own) => own.version)
  return HANDSHAKE_REVISIONS.includes(version) || agreed.includes(version) ? undefined : version
}

function endSession<P>(serving: Serving<P>): void {
  const { plan, exchange, responder, session } = serving
  if (session === undefined) {
    responder.reply(withoutSession())
    return
  }
  const message = { methodName: 'session/end', sessionId: session.id }
  const permit = plan.rules.admit(exchange, message)
  if (permit === undefined) {
    responder.reply(reply(403, 'authorization'))
    return
  }
  onDone(serving, endAtServers(serving, session, permit), () =>
    responder.reply({ ...reply(200, 'upstream'), headers: NO_EDIT }),
  )
}
