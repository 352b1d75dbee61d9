import type { ListenerProgram } from '../program/program.ts'

/** Finds the listener that a request is for. */
export interface ListenerLookup {
  /** The listener with the most specific name; undefined where none is for this host. */
  forHost(host: string): ListenerProgram | undefined
}

/** The listeners of one port, told apart by the host that a request asks for. */
export class HttpListeners implements ListenerLookup {
  readonly #exact = new Map<string, ListenerProgram>()
  /** Wildcards, the longest first. */
  readonly #wildcards: { readonly suffix: string; readonly program: ListenerProgram }[] = []
  #any: ListenerProgram | undefined

  constructor(programs: readonly ListenerProgram[]) {
    for (const program of programs) {
      const { hostname } = program.listener
      if (hostname === undefined) this.#any ??= program
      else if (!hostname.startsWith('*.')) {
        // Of two with one name the first has it: those that are invalid come last.
        if (!this.#exact.has(hostname)) this.#exact.set(hostname, program)
      } else this.#wildcards.push({ suffix: hostname.slice(1), program })
    }
    this.#wildcards.sort((a, b) => b.suffix.length - a.suffix.length)
  }

  forHost(host: string): ListenerProgram | undefined {
    const exact = this.#exact.get(host)
    if (exact !== undefined) return exact
    for (const { suffix, program } of this.#wildcards) {
      if (host.length > suffix.length && host.endsWith(suffix)) return program
    }
    return this.#any
  }
}
