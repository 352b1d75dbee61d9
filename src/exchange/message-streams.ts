/*
 * Streams of clients that send their requests on separate connections: one worker has the stream
 * open, but any worker may receive the requests. Their responses are delivered to the stream,
 * wherever it is open.
 */

/** What one worker sends to the others about a stream. */
export type StreamMessage = { readonly key: string } & (
  | { readonly what: 'text'; readonly text: string }
  /** The session id of the client; empty if it has none. */
  | { readonly what: 'session'; readonly session: string }
  | { readonly what: 'closed' }
)

interface OpenStream {
  write(text: string): void
  /** Called when the session of the client starts. */
  began(session: string): void
}

/** Max number of sessions remembered for streams of other workers. */
const MAX_SESSIONS = 50_000
/** Milliseconds that a request waits for a message that another worker sent earlier. */
const TIMEOUT_MS = 5_000

export class MessageStreams {
  readonly #open = new Map<string, OpenStream>()
  readonly #sessions = new Map<string, string>()
  readonly #waiting = new Map<string, Set<(session: string | undefined) => void>>()
  readonly #broadcast: (message: StreamMessage) => void

  /** `tellOthers` sends to all other workers, if there are any. */
  constructor(broadcast: (message: StreamMessage) => void = () => {}) {
    this.#broadcast = broadcast
  }

  get size(): number {
    return this.#open.size
  }

  /** Returns a function that closes the stream. */
  open(key: string, stream: OpenStream): () => void {
    this.#open.set(key, stream)
    return () => {
      this.#open.delete(key)
      this.#sessions.delete(key)
      this.#broadcast({ key, what: 'closed' })
    }
  }

  deliver(key: string, text: string): void {
    const own = this.#open.get(key)
    if (own === undefined) this.#broadcast({ key, what: 'text', text })
    else own.write(text)
  }

  begin(key: string, session: string): void {
    this.#learn(key, session)
    this.#broadcast({ key, what: 'session', session })
  }

  /** Undefined if no session was started in time. */
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

  /** Handles a message from another worker. */
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
