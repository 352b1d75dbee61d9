/** The key under which the variables of a request have their ledger; plain variables have none. */
export const LEDGER: unique symbol = Symbol('ledger')

/** Max bytes of client input that expressions read. */
export interface ReadingLimits {
  readonly body: number
  /** Per JSON text. */
  readonly json: number
}

/** The defaults. */
const READING_LIMITS: ReadingLimits = { body: 2 << 20, json: 2 << 20 }

/*
 * In units of fuel (./fuel.ts), about ten nanoseconds each: what all expressions of one request may
 * spend together on evaluation, on reading client input, and on explanations.
 */
export const REQUEST_FUEL = 200_000
const READING_FUEL = 130_000
const EXPLAINING_FUEL = 60_000

/** Max documents to remember: rules read one or two. */
const MAX_DOCUMENTS = 16

/** Units that are left to spend. */
export interface Allowance {
  left: number
}

/** The result of reading a document. */
export interface Document<T> {
  readonly value: T | undefined
  /** Why there is no value. */
  readonly reason: string
  readonly detail: unknown
  /** The error ends the budget, and is not just an ordinary error. */
  readonly isOverBound: boolean
}

/**
 * State shared by the expressions of one request, so that the cost of a request is limited, however
 * many rules there are: one budget, and bodies and headers that are read only once.
 */
export class Ledger {
  left = REQUEST_FUEL
  /** The budget for reading, which grows with the max input size. */
  readonly reading: Allowance
  readonly explaining: Allowance = { left: EXPLAINING_FUEL }
  readonly maxJsonSize: number
  readonly #documents = new Map<unknown, Document<unknown>>()
  readonly #texts = new Map<Uint8Array, string | undefined>()

  constructor({ body, json }: ReadingLimits = READING_LIMITS) {
    this.maxJsonSize = json
    this.reading = { left: READING_FUEL + Math.floor(Math.max(body, json) / 8) }
  }

  /** The document of a string, or of bytes; `read` is called once for each. */
  document<T>(source: string | Uint8Array, read: () => Document<T>): Document<T> {
    const known = this.#documents.get(source)
    if (known !== undefined) return known as Document<T>
    const document = read()
    if (this.#documents.size < MAX_DOCUMENTS) this.#documents.set(source, document)
    return document
  }

  /** The string encoded by the bytes; `undefined` if they are not UTF-8. */
  text(bytes: Uint8Array, decode: (bytes: Uint8Array) => string | undefined): string | undefined {
    if (this.#texts.has(bytes)) return this.#texts.get(bytes)
    const text = decode(bytes)
    if (this.#texts.size < MAX_DOCUMENTS) this.#texts.set(bytes, text)
    return text
  }

  /** Resets the budget when a request is evaluated again to explain it; what was read is kept. */
  renew(): void {
    this.left = REQUEST_FUEL
  }
}
