import { CODES, errorText } from '../errors.ts'
import type { EventBlock } from '../event-blocks.ts'
import { isObject, type ServerMessage } from '../message.ts'
import { NOT_SENDING, type Sending, type ServerEvents } from '../server.ts'
import type { StatelessRequest } from './request.ts'
import { changeForClient, SUBSCRIPTION_ID } from './response.ts'
import type { ServerIntroduction, SessionListener, StatelessSession } from './session.ts'

const EVENT: EventBlock = { data: '', id: undefined, others: ['event: message'] }
/** The max resources that one request listens to. */
const MAX_RESOURCES = 100

/** What a client listens to, as it wrote it. */
interface Wanted {
  readonly toolsListChanged?: unknown
  readonly promptsListChanged?: unknown
  readonly resourcesListChanged?: unknown
  readonly resourceSubscriptions?: unknown
}

/** Each kind of list: the member with which a client listens to it, and its notification. */
const LISTS = [
  ['tools', 'toolsListChanged', 'notifications/tools/list_changed'],
  ['prompts', 'promptsListChanged', 'notifications/prompts/list_changed'],
  ['resources', 'resourcesListChanged', 'notifications/resources/list_changed'],
] as const

/** A `subscriptions/listen` request, served by a server that sends notifications in a session. */
export class StatelessSubscription implements SessionListener {
  readonly #session: StatelessSession
  readonly #request: StatelessRequest
  readonly #events: ServerEvents
  #listening: Sending = NOT_SENDING
  #methods: ReadonlySet<string> = new Set()
  #resources: readonly string[] = []
  #isOver = false

  constructor(session: StatelessSession, request: StatelessRequest, events: ServerEvents) {
    this.#session = session
    this.#request = request
    this.#events = events
  }

  begin(wanted: unknown): Sending {
    const uris = isObject(wanted) ? (wanted['resourceSubscriptions'] ?? []) : undefined
    const isValid = Array.isArray(uris) && uris.every((uri) => typeof uri === 'string')
    if (!isValid || uris.length > MAX_RESOURCES) {
      const error = { code: CODES.invalidParams, message: 'Invalid params: notifications' }
      this.#events.began('message', undefined)
      this.#events.received({ text: errorText(this.#request.id, error), block: undefined })
      this.#events.ended()
      return NOT_SENDING
    }
    this.#session.introduced
      .then(async (introduction) => {
        if (this.#isOver) return
        if ('status' in introduction) this.#events.failed(introduction)
        else await this.#listen(wanted as Wanted, uris, introduction)
      })
      .catch((error: unknown) => this.#events.failed({ status: 500, reason: 'internal', error }))
    return { stop: () => this.#end(), resume() {} }
  }

  async #listen(
    wanted: Wanted,
    uris: readonly string[],
    { capabilities }: ServerIntroduction,
  ): Promise<void> {
    this.#listening = this.#session.listen({ ended: () => this.#gone() })
    const lists = LISTS.filter(
      ([kind, member]) => wanted[member] === true && offers(capabilities[kind], 'listChanged'),
    )
    this.#methods = new Set(lists.map(([, , method]) => method))
    if (offers(capabilities['resources'], 'subscribe')) await this.#subscribe(new Set(uris))
    if (this.#isOver) return
    const honoured = {
      ...Object.fromEntries(lists.map(([, member]) => [member, true])),
      ...(this.#resources.length === 0 ? {} : { resourceSubscriptions: this.#resources }),
    }
    this.#acknowledge(honoured)
    this.#session.listeners.add(this)
  }

  async #subscribe(uris: ReadonlySet<string>): Promise<void> {
    const { resources: counts } = this.#session
    const subscribed = [...uris].map(async (uri) => {
      const count = counts.get(uri) ?? 0
      counts.set(uri, count + 1)
      const { exchange } = this.#request
      const isSubscribed =
        count > 0 || (await this.#session.demand(SUBSCRIBE, JSON.stringify({ uri }), exchange))
      if (!isSubscribed) this.#forget(uri)
      return isSubscribed ? [uri] : []
    })
    this.#resources = (await Promise.all(subscribed)).flat()
    if (this.#isOver) this.#unsubscribe()
  }

  /** Returns true if no client listens to the resource any longer. */
  #forget(uri: string): boolean {
    const { resources: counts } = this.#session
    const count = (counts.get(uri) ?? 0) - 1
    if (count > 0) counts.set(uri, count)
    else counts.delete(uri)
    return count <= 0
  }

  #acknowledge(honoured: object): void {
    const { id } = this.#request
    const params = `{"notifications":${JSON.stringify(honoured)},"_meta":{"${SUBSCRIPTION_ID}":${id}}}`
    this.#events.began('stream', undefined)
    this.#write(`{"jsonrpc":"2.0","method":"${ACKNOWLEDGED}","params":${params}}`)
    if (Object.keys(honoured).length > 0) return
    // There is nothing to wait for.
    this.#write(
      `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","_meta":{"${SUBSCRIPTION_ID}":${id}}}}`,
    )
    this.#end()
    this.#events.ended()
  }

  changed(message: ServerMessage): void {
    const { method, members } = message
    if (method === UPDATED) {
      const { uri } = JSON.parse(members.get('params') ?? '{}') as { readonly uri?: unknown }
      if (typeof uri !== 'string' || !this.#resources.includes(uri)) return
    } else if (!this.#methods.has(method)) return
    this.#write(changeForClient(message, this.#request.id))
  }

  #write(text: string): void {
    this.#events.received({ text, block: EVENT })
  }

  /** The session is over: the client notices the end of its stream, and listens again. */
  #gone(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#session.listeners.delete(this)
    this.#events.ended()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#session.listeners.delete(this)
    this.#listening.stop()
    this.#unsubscribe()
  }

  #unsubscribe(): void {
    const { exchange } = this.#request
    for (const uri of this.#resources) {
      if (!this.#forget(uri) || this.#session.isOver) continue
      void this.#session.demand(UNSUBSCRIBE, JSON.stringify({ uri }), exchange)
    }
    this.#resources = []
  }
}

const SUBSCRIBE = 'resources/subscribe'
const UNSUBSCRIBE = 'resources/unsubscribe'
const UPDATED = 'notifications/resources/updated'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

function offers(capability: unknown, member: string): boolean {
  return isObject(capability) && capability[member] === true
}
