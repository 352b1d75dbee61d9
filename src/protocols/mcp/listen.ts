import { reply } from '../../exchange/reply.ts'
import { jsonMembers } from '../json-text.ts'
import { CODES, errorReply } from './errors.ts'
import { type EventBlock, writeBlock } from './event-blocks.ts'
import { isForeignResult } from './foreign-response.ts'
import { reportedBy, showsFor } from './gather.ts'
import { InOrder } from './in-order.ts'
import { filterList } from './lists.ts'
import { type ClientMessage, isObject, readKnownMessage, readServerMessage } from './message.ts'
import { listMethods } from './methods.ts'
import { type Changed, eventFor, failureReply, Relay } from './relay.ts'
import { replaceIn, rewriteForClient } from './rewrite.ts'
import { attributesOf, sentTo } from './sent.ts'
import type { Received, ServerEvents, ServerFailure } from './server.ts'
import type { EndpointPlan, Serving } from './serving.ts'
import { serverSession } from './session.ts'
import { unacceptedStream } from './well-formed.ts'

/** GET: messages of servers that belong to no request. */
export function listenToAll<P>(serving: Serving<P>): void {
  const { plan, exchange, responder, session, version, sendings } = serving
  const { headers } = exchange.request
  const unaccepted = unacceptedStream(exchange.request)
  if (unaccepted !== undefined) {
    responder.reply(unaccepted)
    return
  }
  const permit = plan.rules.admit(exchange, attributesOf(serving, 'session/listen'))
  if (permit === undefined) {
    responder.reply(reply(403, 'authorization'))
    return
  }
  const lastEventId = headers.get('last-event-id')
  const open = (server: number, resumed: string | undefined, events: ServerEvents) => {
    const own = plan.servers[server]
    if (own?.listen === undefined) {
      events.failed({ status: 405, reason: 'no-stream' })
      return
    }
    const agreed = session?.servers.get(own.name)?.version ?? version
    const resume = { version: agreed, lastEventId: resumed }
    const state = serverSession(session, own.name)
    sendings.add(own.listen(permit, exchange, state, resume, events))
  }
  const isChanged = plan.rules.isGuarded || plan.names.areChanged
  const change = (text: string, server: number) => changed(serving, text, server)
  if (plan.servers.length === 1) {
    const own = isChanged ? (text: string) => change(text, 0) : undefined
    const isResumed = lastEventId !== undefined
    const options = { id: 'null', server: 0, change: own, isResumed }
    open(0, lastEventId, new Relay(serving, options))
    return
  }
  const [, at, id] = /^(\d{1,3}):(.*)$/s.exec(lastEventId ?? '') ?? []
  const present = plan.servers.flatMap(({ name }, server) =>
    session === undefined || session.servers.has(name) ? [server] : [],
  )
  const merged = new MergedStream(serving, present.length, change)
  merged.resumed = at === undefined ? undefined : Number(at)
  // A request's stream that is resumed belongs to one server only.
  for (const server of present)
    open(server, Number(at) === server ? id : undefined, merged.of(server))
}

/**
 * A resumed stream may contain responses to requests of another one. Those requests are unknown
 * here, so everything that looks like a list is filtered as one.
 */
function changed<P>(serving: Serving<P>, text: string, server: number): Changed {
  const { names, rules } = serving.plan
  const message = readKnownMessage(text)
  const result = message.kind === 'response' ? message.members.get('result') : undefined
  const known = result?.startsWith('{') ? jsonMembers(result) : undefined
  for (const [name, method] of listMethods()) {
    if (known?.has(method.items) !== true) continue
    const { shows, report } = showsFor(serving, name, method.part)
    const own = { method, names, shows, isFiltered: rules.isGuarded }
    return reportedBy(report, filterList(text, server, own))
  }
  return names.areChanged ? rewriteForClient(message, server, names) : text
}

/** `subscriptions/listen`: changes, in one stream per request. */
export function listenForChanges<P>(serving: Serving<P>, message: ClientMessage, permit: P): void {
  const { plan, exchange, responder, sendings } = serving
  const { notifications } = message.params
  if (plan.servers.length === 1) {
    const change = plan.names.isPrefixed
      ? (text: string) => rewriteForClient(readKnownMessage(text), 0, plan.names)
      : undefined
    const relay = new Relay(serving, { id: message.id, server: 0, change })
    const text = subscribed(serving, message, 0) ?? message.text
    const sent = sentTo(serving, { ...message, text }, 0)
    const only = plan.servers[0]
    if (only !== undefined) sendings.add(only.send(permit, exchange, sent, relay))
    return
  }
  if (!isObject(notifications)) {
    const error = { code: CODES.invalidParams, message: 'Invalid params: notifications' }
    responder.reply(errorReply(200, message.id, error, 'upstream'))
    return
  }
  const merged = new SubscribedStream(serving, plan.servers.length, (text, server) =>
    rewriteForClient(readKnownMessage(text), server, plan.names),
  )
  merged.id = message.id
  for (const [server, own] of plan.servers.entries()) {
    const text = subscribed(serving, message, server) ?? message.text
    const sent = sentTo(serving, { ...message, text }, server)
    sendings.add(own.send(permit, exchange, sent, merged.of(server)))
  }
}

/** Returns the request with only the resources of one server, under their names on that server. */
function subscribed<P>(
  { plan }: Serving<P>,
  { params, text }: ClientMessage,
  server: number,
): string | undefined {
  const { notifications } = params
  const wanted = isObject(notifications) ? notifications.resourceSubscriptions : undefined
  if (!plan.names.areChanged || !Array.isArray(wanted)) return undefined
  const own = wanted.flatMap((uri) => {
    const named = typeof uri === 'string' ? subscribedBy(plan, uri) : undefined
    return named?.server === server || named?.server === 'any' ? [named.name] : []
  })
  const path = ['params', 'notifications', 'resourceSubscriptions']
  return replaceIn(text, [[path, JSON.stringify(own)]])
}

/** Without prefixes, only the lists show which server offers a resource. */
function subscribedBy<P>({ names, catalog, servers }: EndpointPlan<P>, uri: string) {
  if (names.isPrefixed) return names.fromClient('resource', uri)
  return { server: catalog.serverOf('resource', servers.length, uri) ?? 'any', name: uri } as const
}

/** Merges the streams of several servers. It ends when the last of them does. */
class MergedStream<P> {
  /** The server whose stream is resumed; it may send results of any request. */
  resumed: number | undefined
  protected readonly serving: Serving<P>
  protected left: number
  readonly #change: (text: string, server: number) => Changed
  /** Shared by all servers: they write to one stream. */
  readonly #order: InOrder<P>
  #isOpen = false
  #failure: ServerFailure | undefined

  constructor(
    serving: Serving<P>,
    servers: number,
    change: (text: string, server: number) => Changed,
  ) {
    this.serving = serving
    this.left = servers
    this.#change = change
    this.#order = new InOrder(serving)
  }

  of(server: number): ServerEvents {
    return {
      began: (form) => {
        if (form === 'stream') this.open()
      },
      received: (received) => {
        let isReady = false
        this.#order.run(() => {
          isReady = this.received(received, server)
        })
        return isReady
      },
      ended: () => void this.#order.run(() => this.over()),
      failed: (failure) => {
        // Not in order: an earlier event may be the one that threw.
        if ('error' in failure) {
          this.serving.responder.broke(failure.error)
          return
        }
        this.#order.run(() => {
          this.#failure ??= failure
          this.over()
        })
      },
      broke: (error) => this.serving.responder.broke(error),
    }
  }

  protected open(): void {
    if (!this.#isOpen) this.serving.responder.open([])
    this.#isOpen = true
  }

  protected received({ text, block }: Received, server: number): boolean {
    if (text !== undefined && this.isForeign(text, server)) return true
    const own = text === undefined ? undefined : this.#change(text, server)
    const to = block ?? NO_BLOCK
    if (typeof own !== 'object') return this.write(to, own, server)
    this.#order.after(own, (changed) => void this.write(to, changed, server))
    return false
  }

  protected isForeign(text: string, server: number): boolean {
    return server !== this.resumed && isForeignResult(text, 'null')
  }

  protected write(block: EventBlock, text: string | undefined, server: number): boolean {
    const { responder, plan } = this.serving
    this.open()
    return responder.write(writeBlock(eventFor(block, text, plan.servers.length, server)))
  }

  protected over(): void {
    this.left--
    if (this.left > 0) return
    const { responder } = this.serving
    if (this.#isOpen) responder.end()
    else responder.reply(failureReply('null', this.#failure ?? NO_STREAM))
  }
}

const NO_BLOCK: EventBlock = { data: undefined, id: undefined, others: ['event: message'] }
const NO_STREAM: ServerFailure = { status: 405, reason: 'no-stream' }
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** The servers' acknowledgements are merged, and the last server ends the request. */
class SubscribedStream<P> extends MergedStream<P> {
  /** The ID of the request. */
  id = 'null'
  #acknowledged: { readonly text: string; readonly honoured: Honoured }[] = []
  #held: [Received, number][] = []
  #isAcknowledged = false
  #last: [Received, number] | undefined

  protected override isForeign(text: string): boolean {
    return isForeignResult(text, this.id)
  }

  protected override received(received: Received, server: number): boolean {
    const { text } = received
    if (text === undefined) return true
    if (this.isForeign(text)) return true
    const message = readServerMessage(text)
    if (message.kind === 'response') {
      this.#last = [received, server]
      return true
    }
    if (message.method === ACKNOWLEDGED) {
      this.#acknowledged.push({ text, honoured: this.#honoured(text, server) })
      this.#acknowledge()
      return true
    }
    if (!this.#isAcknowledged) {
      this.#held.push([received, server])
      return true
    }
    return super.received(received, server)
  }

  protected override over(): void {
    if (this.left === 1 && this.#last !== undefined) {
      this.#acknowledge(true)
      super.received(...this.#last)
    } else this.#acknowledge()
    super.over()
  }

  /** Returns the notifications with the client's names of resources. */
  #honoured(text: string, server: number): Honoured {
    const { params } = JSON.parse(text) as { readonly params?: { notifications?: Honoured } }
    const honoured = params?.notifications ?? {}
    const { resourceSubscriptions: own } = honoured
    if (!Array.isArray(own)) return honoured
    const { names } = this.serving.plan
    const uris = own.map((uri) => names.forClient('resource', server, String(uri)))
    return { ...honoured, resourceSubscriptions: uris }
  }

  #acknowledge(isLast = false): void {
    const [first] = this.#acknowledged
    const isComplete = this.#acknowledged.length >= this.left || isLast
    if (this.#isAcknowledged || first === undefined || !isComplete) return
    this.#isAcknowledged = true
    const honoured = merged(this.#acknowledged.map((own) => own.honoured))
    const path = ['params', 'notifications']
    const text = replaceIn(first.text, [[path, JSON.stringify(honoured)]])
    this.write(NO_BLOCK, text, 0)
    for (const [received, server] of this.#held.splice(0)) super.received(received, server)
  }
}

interface Honoured {
  readonly [name: string]: unknown
}

/** Returns everything that any server sends. */
function merged(all: readonly Honoured[]): Honoured {
  const uris = all.flatMap(({ resourceSubscriptions: own }) => (Array.isArray(own) ? own : []))
  const sum: Honoured = Object.assign({}, ...all)
  return uris.length === 0 ? sum : { ...sum, resourceSubscriptions: [...new Set(uris)] }
}
