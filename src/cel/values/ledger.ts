/** Where the variables of a request have their ledger; plain variables have none. */
export const LEDGER: unique symbol = Symbol('ledger')

/** Bytes of what a client sent that expressions read. */
export interface ReadingLimits {
  readonly body: number
  /** Of a JSON text. */
  readonly json: number
}

/** Where nobody says otherwise. */
const READING_LIMITS: ReadingLimits = { body: 2 << 20, json: 2 << 20 }

/*
 * In units of fuel (./fuel.ts), some ten nanoseconds each: what all expressions of one request may
 * spend together, on evaluation, on reading what the client sent, and on being explained.
 */
export const REQUEST_FUEL = 200_000
const READING_FUEL = 130_000
const EXPLAINING_FUEL = 60_000

/** Texts that are remembered: rules read one or two. */
const MAX_DOCUMENTS = 16

/** Units that are left for something. */
export interface Allowance {
  left: number
}

/** What a text came to. */
export interface Document<T> {
  readonly value: T | undefined
  /** Why there is no value. */
  readonly reason: string
  readonly detail: unknown
  /** That is the end of the budget, and not just an error. */
  readonly isOverBound: boolean
}

/**
 * What the expressions of one request share, so that a request costs what it may, however many
 * rules there are: one budget, and what was read of a body or a header once.
 */
export class Ledger {
  left = REQUEST_FUEL
  /** For reading: it grows with what may be sent. */
  readonly reading: Allowance
  readonly explaining: Allowance = { left: EXPLAINING_FUEL }
  readonly maxJsonSize: number
  readonly #documents = new Map<unknown, Document<unknown>>()
  readonly #texts = new Map<Uint8Array, string | undefined>()

  constructor({ body, json }: ReadingLimits = READING_LIMITS) {
    this.maxJsonSize = json
    this.reading = { left: READING_FUEL + Math.floor(Math.max(body, json) / 8) }
  }

  /** The document of a text, or of bytes; `read` is asked once for each. */
  document<T>(source: string | Uint8Array, read: () => Document<T>): Document<T> {
    const known = this.#documents.get(source)
    if (known !== undefined) return known as Document<T>
    const document = read()
    if (this.#documents.size < MAX_DOCUMENTS) this.#documents.set(source, document)
    return document
  }

  /** The text of bytes; undefined where they are no UTF-8. */
  text(bytes: Uint8Array, decode: (bytes: Uint8Array) => string | undefined): string | undefined {
    if (this.#texts.has(bytes)) return this.#texts.get(bytes)
    const text = decode(bytes)
    if (this.#texts.size < MAX_DOCUMENTS) this.#texts.set(bytes, text)
    return text
  }

  /** A request that is judged again, to be told, begins anew; what was read stays. */
  renew(): void {
    this.left = REQUEST_FUEL
  }
}
