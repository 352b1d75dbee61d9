import type { NameKind } from './methods.ts'

/** The max number of names to remember per server. */
const MAX_NAMES = 20_000

/** What servers are known to offer. It may be out of date, and is looked up again if in doubt. */
export class Catalog {
  readonly #names = new Map<string, Set<string>>()

  knows(kind: NameKind, server: number, name: string): boolean {
    return this.#names.get(`${kind} ${server}`)?.has(name) === true
  }

  learn(kind: NameKind, server: number, name: string): void {
    const key = `${kind} ${server}`
    const known = this.#names.get(key)
    if (known === undefined) this.#names.set(key, new Set([name]))
    else if (known.size < MAX_NAMES) known.add(name)
  }

  /** Returns the first server that offers it. */
  serverOf(kind: NameKind, servers: number, name: string): number | undefined {
    for (let server = 0; server < servers; server++) {
      if (this.knows(kind, server, name)) return server
    }
    return undefined
  }
}
