/*
 * Streams of clients that send requests of their own beside them: the stream is open in one worker,
 * and the requests come to any. What a request comes to is delivered to the stream, wherever it is.
 */

/** What one worker tells the others about a stream. */
export type StreamMessage = { readonly key: string } & (
  | { readonly what: 'text'; readonly text: string }
  /** The id that the session of its client has; empty: none. */
  | { readonly what: 'session'; readonly session: string }
  | { readonly what: 'closed' }
)

interface OpenStream {
  write(text: string): void
  /** The session of its client has begun. */
  began(session: string): void
}

/** Sessions that are remembered for streams of other workers. */
const MAX_SESSIONS = 50_000
/** Milliseconds that a request waits for what another worker was told before it. */
const TIMEOUT_MS = 5_000

export class MessageStreams {
  readonly #open = new Map<string, OpenStream>()
  readonly #sessions = new Map<string, string>()
  readonly #waiting = new Map<string, Set<(session: string | undefined) => void>>()
  readonly #tellOthers: (message: StreamMessage) => void

  /** `tellOthers`: all other workers, if there are any. */
  constructor(tellOthers: (message: StreamMessage) => void = () => {}) {
    this.#tellOthers = tellOthers
  }

  get size(): number {
    return this.#open.size
  }

  /** Gives back what closes it. */
  open(key: string, stream: OpenStream): () => void {
    this.#open.set(key, stream)
    return () => {
      this.#open.delete(key)
      this.#sessions.delete(key)
      this.#tellOthers({ key, what: 'closed' })
    }
  }

  deliver(key: string, text: string): void {
    const own = this.#open.get(key)
    if (own === undefined) this.#tellOthers({ key, what: 'text', text })
    else own.write(text)
  }

  begin(key: string, session: string): void {
    this.#learn(key, session)
    this.#tellOthers({ key, what: 'session', session })
  }

  /** Undefined: nobody began one. */
  sessionOf(key: string): string | undefined | Promise<string | undefined> {
    const known = this.#sessions.get(key)
    if (known !== undefined) return known
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key) ?? new Set()
      this.#waiting.set(key, waiting)
      const done = (session: string | undefined) => {
        clearTimeout(timer)
        waiting.delete(done)
        if (waiting.size === 0) this.#waiting.delete(key)
        resolve(session)
      }
      const timer = setTimeout(() => done(undefined), TIMEOUT_MS)
      timer.unref()
      waiting.add(done)
    })
  }

  /** From another worker. */
  receive(message: StreamMessage): void {
    const { key, what } = message
    if (what === 'text') this.#open.get(key)?.write(message.text)
    else if (what === 'session') this.#learn(key, message.session)
    else this.#sessions.delete(key)
  }

  #learn(key: string, session: string): void {
    this.#sessions.set(key, session)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest)
    for (const done of this.#waiting.get(key) ?? []) done(session)
    this.#open.get(key)?.began(session)
  }
}
