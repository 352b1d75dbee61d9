interface Header {
  readonly width: number
  readonly height: number
  readonly title: string
}

type Event = readonly [seconds: number, kind: 'o', text: string]

/** Seconds, chosen so that viewers can follow; they measure nothing. */
const KEY = 0.03
const BEFORE_OUTPUT = 0.4
const AFTER_OUTPUT = 1.5

/** A recording of a terminal: https://docs.asciinema.org/manual/asciicast/v2/ */
export class Cast {
  readonly #header: Header
  readonly #events: Event[] = []
  #now = 0

  constructor(header: Header) {
    this.#header = header
  }

  /** Types a line after the prompt, key by key. */
  type(line: string): void {
    this.#put(0, '$ ')
    for (const character of line) this.#put(KEY, character)
    this.#put(BEFORE_OUTPUT, '\r\n')
  }

  show(text: string): void {
    this.#put(0, `${text.replaceAll(/\r?\n/g, '\r\n')}\r\n`)
    this.#now += AFTER_OUTPUT
  }

  render(): string {
    const lines = [{ version: 2, ...this.#header }, ...this.#events]
    return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`
  }

  #put(after: number, text: string): void {
    this.#now = Math.round((this.#now + after) * 1000) / 1000
    this.#events.push([this.#now, 'o', text])
  }
}
