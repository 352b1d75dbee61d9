import type { Connection, Source } from '../exchange/connection.ts'
import type { Exchange } from '../exchange/exchange.ts'
import {
  FORWARDED_NAMES,
  ForwardedHeaders,
  NOTHING_FORWARDED,
} from '../exchange/forwarded-headers.ts'
import { forwardedSource } from '../exchange/forwarded-source.ts'
import type { Header } from '../exchange/header-edit.ts'
import { headerText } from '../exchange/header-text.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'
import { replaceForwarded } from '../wire/http1/forwarded-lines.ts'
import type { RequestHead } from '../wire/http1/head.ts'
import { hostOf } from '../wire/http1/write.ts'

/** Which headers about clients backends get: `frontendPolicies.http.forwarded`. */
export type ForwardedMode = 'Auto' | 'Preserve' | 'Off'

/** Who sends the requests of a connection, and the headers about it for their backends. */
export class ClientAddress {
  readonly #connection: Connection
  #host = ''
  #port = 0
  /** For requests to that host, by a client that no proxy vouches for. */
  #own: ForwardedHeaders | undefined = undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The source; undefined if the proxies in front, which should know it, do not send it. */
  sourceOf(fields: Fields, trustedHops: number): Source | undefined {
    const { source } = this.#connection
    if (trustedHops === 0) return source
    return forwardedSource(source, joinedValue(fields, 'x-forwarded-for'), trustedHops)
  }

  /** Undefined: backends get what the client sent. */
  forwarded(
    mode: ForwardedMode,
    head: RequestHead,
    { source }: Exchange,
    trustedHops: number,
  ): ForwardedHeaders | undefined {
    if (mode === 'Preserve') return undefined
    replaceForwarded(head.fields)
    if (mode === 'Off') return NOTHING_FORWARDED
    if (source !== this.#connection.source) return this.#behindProxies(head, trustedHops)
    const { host, port } = head
    if (this.#own === undefined || host !== this.#host || port !== this.#port) {
      this.#host = host
      this.#port = port
      this.#own = new ForwardedHeaders([['x-forwarded-for', this.#peer], ...this.#asked(head)])
    }
    return this.#own
  }

  get #peer(): string {
    return this.#connection.source.address.text
  }

  #asked(head: RequestHead): readonly Header[] {
    const proto = this.#connection.isEncrypted ? 'https' : 'http'
    const host = hostOf(head)
    if (host === '') return [['x-forwarded-proto', proto]]
    return [
      ['x-forwarded-proto', proto],
      ['x-forwarded-host', host],
    ]
  }

  /**
   * The headers of trusted proxies are kept, and continued with their own address. What the client
   * wrote into X-Forwarded-For before they did is not.
   */
  #behindProxies(head: RequestHead, trustedHops: number): ForwardedHeaders {
    const given = new Map<string, string>()
    for (const name of FORWARDED_NAMES) {
      const value = joinedValue(head.fields, name)
      if (value !== undefined) given.set(name, headerText(value))
    }
    const own = new Map(this.#asked(head))
    const list = (given.get('x-forwarded-for') ?? '').split(',').slice(-trustedHops)
    const entries = [...list.map((entry) => entry.trim()), this.#peer]
    const forwarded = given.get('forwarded')
    if (forwarded !== undefined) given.set('forwarded', `${forwarded}, ${this.#element(own)}`)
    const all = new Map([...own, ...given, ['x-forwarded-for', entries.join(', ')]])
    return new ForwardedHeaders([...all])
  }

  /** RFC 7239 §4, §6: addresses with colons are in brackets and quotes. */
  #element(own: ReadonlyMap<string, string>): string {
    const node = this.#peer.includes(':') ? `"[${this.#peer}]"` : this.#peer
    return `for=${node};proto=${own.get('x-forwarded-proto')}`
  }
}
