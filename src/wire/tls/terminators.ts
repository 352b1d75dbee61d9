import { createHash } from 'node:crypto'
import { Terminator, type TerminatorOptions } from './terminate.ts'
import type { TicketKeys } from './ticket-keys.ts'

/**
 * Caches terminators by their options. Connections keep the one that they began with, so a new
 * certificate does not interrupt them.
 */
export class Terminators {
  readonly #tickets: TicketKeys
  #known = new Map<string, Terminator | string>()
  #next = new Map<string, Terminator | string>()

  constructor(tickets: TicketKeys) {
    this.#tickets = tickets
  }

  /** Returns the terminator for these options, or what is wrong with them. */
  get(options: TerminatorOptions): Terminator | string {
    const key = createHash('sha256').update(JSON.stringify(options)).digest('base64')
    const made = this.#next.get(key) ?? this.#known.get(key) ?? this.#make(options)
    this.#next.set(key, made)
    return made
  }

  /** Drops those that were not requested since the last call. */
  turn(): void {
    this.#known = this.#next
    this.#next = new Map()
  }

  #make(options: TerminatorOptions): Terminator | string {
    try {
      return new Terminator(options, this.#tickets)
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}
