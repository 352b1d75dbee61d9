import type { ListenerProgram } from '../program/program.ts'

/** Finds the listener that a request is for. */
export interface ListenerLookup {
  /** The listener with the most specific name; undefined if none matches this host. */
  forHost(host: string): ListenerProgram | undefined
}

/** The listeners of one port, selected by the host of a request. */
export class HttpListeners implements ListenerLookup {
  readonly #exact = new Map<string, ListenerProgram>()
  /** Wildcards, longest first. */
  readonly #wildcards: { readonly suffix: string; readonly program: ListenerProgram }[] = []
  #any: ListenerProgram | undefined

  constructor(programs: readonly ListenerProgram[]) {
    for (const program of programs) {
      const { hostname } = program.listener
      if (hostname === undefined) this.#any ??= program
      else if (!hostname.startsWith('*.')) {
        // If two have the same name, the first one wins: invalid ones come last.
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
