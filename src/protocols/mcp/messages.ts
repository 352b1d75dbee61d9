import { serveCall } from './calls.ts'
import { CODES, errorReply, jsonReply } from './errors.ts'
import { broadcast, gatherHandshake, gatherList } from './gather.ts'
import { listenForChanges } from './listen.ts'
import type { ClientMessage } from './message.ts'
import { methodOf } from './methods.ts'
import { ACCEPTED, Relay } from './relay.ts'
import { idFromClient, replaceIn, responseForServer } from './rewrite.ts'
import { attributesOf, sentTo } from './sent.ts'
import type { Serving } from './serving.ts'
import { unknownMethod } from './well-formed.ts'

/** Serves one message of a client. */
export function serveMessage<P>(serving: Serving<P>, message: ClientMessage): void {
  if (message.kind === 'request') serveRequest(serving, message)
  else notifyServers(serving, message)
}

function serveRequest<P>(serving: Serving<P>, message: ClientMessage): void {
  const { plan, exchange, responder } = serving
  const method = methodOf(message.method)
  if (method?.kind === 'part' && method.part !== 'task') {
    serveCall(serving, message, method)
    return
  }
  const attributes = attributesOf(serving, message.method)
  const permit =
    method === undefined
      ? plan.rules.decide(exchange, attributes)
      : plan.rules.admit(exchange, attributes)
  if (permit === undefined) {
    serving.record.outcome = 'denied'
    if (method === undefined) responder.reply(unknownMethod(message))
    else responder.reply(deniedReply(message))
    return
  }
  switch (method?.kind) {
    case 'part':
      serveCall(serving, message, method, permit)
      return
    case 'list':
      gatherList(serving, message, method, permit)
      return
    case 'handshake':
      gatherHandshake(serving, message, permit)
      return
    case 'listen':
      listenForChanges(serving, message, permit)
      return
    default:
  }
  if (plan.servers.length === 1) forwardTo(serving, message, 0, permit)
  else if (method?.kind === 'ping') responder.reply(resultReply(message.id, '{}'))
  else if (method?.kind === 'all') broadcast(serving, message, permit)
  else responder.reply(unknownMethod(message))
}

/** Forwards a message unchanged to a server that needs no names rewritten. */
function forwardTo<P>(
  serving: Serving<P>,
  message: ClientMessage,
  server: number,
  permit: P,
): void {
  const { plan, exchange, sendings } = serving
  const own = plan.servers[server]
  const relay = new Relay(serving, { id: message.id, server, change: undefined })
  const sent = sentTo(serving, message, server)
  if (own !== undefined) sendings.add(own.send(permit, exchange, sent, relay))
}

function resultReply(id: string, result: string) {
  return jsonReply(200, `{"jsonrpc":"2.0","id":${id},"result":${result}}`, 'upstream')
}

function deniedReply({ id }: ClientMessage) {
  const message = 'The gateway denied the request.'
  return errorReply(403, id, { code: CODES.invalidRequest, message }, 'authorization')
}

/** Forwards notifications, and responses to requests of servers. */
function notifyServers<P>(serving: Serving<P>, message: ClientMessage): void {
  const { plan, exchange, responder } = serving
  const permit = plan.rules.admit(exchange, attributesOf(serving, message.method || 'response'))
  if (permit === undefined) {
    responder.reply(deniedReply(message))
    return
  }
  if (plan.servers.length === 1) {
    forwardTo(serving, message, 0, permit)
    return
  }
  const back = backTo(serving, message)
  if (back === undefined) broadcast(serving, message, permit)
  else if (back.server >= plan.servers.length) responder.reply(ACCEPTED)
  else forwardTo(serving, { ...message, text: back.text }, back.server, permit)
}

/** Returns the one server that a message is for: a response to its request, or its progress. */
function backTo<P>({ plan }: Serving<P>, message: ClientMessage) {
  if (message.kind === 'response') {
    const found = idFromClient(message.id)
    // An ID that the gateway did not issue belongs to no server.
    if (found === undefined) return { server: Number.POSITIVE_INFINITY, text: '' }
    return { server: found.server, text: responseForServer(message.text, found, plan.names) }
  }
  if (message.method !== 'notifications/progress') return undefined
  const { progressToken } = message.params
  // Those that the gateway issued are strings.
  if (typeof progressToken !== 'string') return undefined
  const found = idFromClient(JSON.stringify(progressToken))
  if (found === undefined) return undefined
  const text = replaceIn(message.text, [[['params', 'progressToken'], found.raw]])
  return { server: found.server, text }
}
