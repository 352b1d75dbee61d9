import type { Exchange } from '../../exchange/exchange.ts'
import type { MessageStream, OpenStream } from '../../exchange/service-call.ts'
import type { Opening, Outgoing, Reply } from './messages.ts'

const METHOD_PATH = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

type Codec = typeof import('./messages.ts')

/** One stream to a service, for one request and its response. */
export class Session {
  readonly #stream: MessageStream
  readonly #codec: Codec
  readonly #timeout: number
  #opening: Opening | undefined
  readonly #replies: Reply[] = []
  #receive: ((reply: Reply) => void) | undefined
  #closed: Reply | undefined

  constructor(
    open: OpenStream,
    codec: Codec,
    exchange: Exchange,
    { opening, timeout }: { readonly opening: Opening; readonly timeout: number },
  ) {
    this.#codec = codec
    this.#timeout = timeout
    this.#opening = opening
    this.#stream = open(exchange, METHOD_PATH, {
      message: (bytes) => this.#take(codec.readMessage(bytes)),
      closed: (detail) => {
        this.#closed = { kind: 'failed', detail }
        this.#take(this.#closed)
      },
    })
  }

  send(message: Outgoing): void {
    this.#stream.send(this.#codec.writeMessage(message, this.#opening))
    this.#opening = undefined
  }

  /** The next reply of the service. */
  next(): Promise<Reply> {
    const [known] = this.#replies.splice(0, 1)
    if (known !== undefined) return Promise.resolve(known)
    if (this.#closed !== undefined) return Promise.resolve(this.#closed)
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#take(LATE), this.#timeout)
      this.#receive = (reply) => {
        clearTimeout(timer)
        this.#receive = undefined
        resolve(reply)
      }
    })
  }

  /** Delivers all further replies as they arrive. */
  listen(receive: (reply: Reply) => void): void {
    this.#receive = receive
    for (const reply of this.#replies.splice(0)) receive(reply)
  }

  /** Ends the gateway's side of the stream. */
  end(): void {
    this.#stream.end()
  }

  stop(): void {
    this.#receive = undefined
    this.#stream.stop()
  }

  #take(reply: Reply): void {
    if (this.#receive === undefined) this.#replies.push(reply)
    else this.#receive(reply)
  }
}

const LATE: Reply = { kind: 'failed', detail: 'timeout' }
