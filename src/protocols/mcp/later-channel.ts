import type { Exchange } from '../../exchange/exchange.ts'
import type { Channel } from './held-session.ts'

/** The max messages that wait until the channel is open. */
const MAX_WAITING = 64

/** A channel that is opened later: messages wait for it. */
export class LaterChannel implements Channel {
  #channel: Channel | undefined
  #waiting: (readonly [text: string, exchange: Exchange])[] = []
  #isClosed = false

  get isClosed(): boolean {
    return this.#isClosed
  }

  open(channel: Channel): void {
    this.#channel = channel
    for (const [text, exchange] of this.#waiting.splice(0)) channel.write(text, exchange)
    if (this.#isClosed) channel.close()
  }

  write(text: string, exchange: Exchange): boolean {
    if (this.#channel !== undefined) return this.#channel.write(text, exchange)
    if (this.#isClosed) return false
    return this.#waiting.push([text, exchange]) <= MAX_WAITING
  }

  close(): void {
    this.#isClosed = true
    this.#waiting = []
    this.#channel?.close()
  }
}
