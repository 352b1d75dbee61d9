import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'

/** Characters: V8's message and the stack trace below it. */
const MAX_TEXT = 8_192
/** Max milliseconds that an exited process is waited for: its own children may hold its stderr. */
const MAX_WAIT = 500

/** Passes on what a process writes to stderr, and keeps the end of it, which tells why it died. */
export class StderrTail {
  #text = ''
  readonly #isClosed: Promise<void>

  constructor(
    stderr: Readable,
    write: (text: string) => unknown = (text) => process.stderr.write(text),
  ) {
    this.#isClosed = new Promise((resolve) => stderr.once('close', resolve))
    stderr.setEncoding('utf8')
    stderr.on('data', (text: string) => {
      write(text)
      this.#text = `${this.#text}${text}`.slice(-MAX_TEXT)
    })
  }

  /** The last text of a process that exited; undefined if it wrote none. */
  async read(): Promise<string | undefined> {
    await Promise.race([this.#isClosed, wait(MAX_WAIT, undefined, { ref: false })])
    return this.#text.trim() || undefined
  }
}
