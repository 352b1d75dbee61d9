import type { NameKind } from './methods.ts'
import { isUriTemplate, mayExpandTo } from './uri-template.ts'

/** The max number of names to remember per server. */
const MAX_NAMES = 20_000
/** The max number of templates to remember per server; each is compared with a URI. */
const MAX_TEMPLATES = 1_000

/** What servers are known to offer. It may be out of date, and is looked up again if in doubt. */
export class Catalog {
  readonly #names = new Map<string, Set<string>>()
  readonly #templates = new Map<number, Set<string>>()

  knows(kind: NameKind, server: number, name: string): boolean {
    return this.#names.get(`${kind} ${server}`)?.has(name) === true
  }

  learn(kind: NameKind, server: number, name: string): void {
    const key = `${kind} ${server}`
    const known = this.#names.get(key)
    if (known === undefined) this.#names.set(key, new Set([name]))
    else if (known.size < MAX_NAMES) known.add(name)
    if (kind !== 'resource' || !isUriTemplate(name)) return
    const templates = this.#templates.get(server) ?? new Set()
    this.#templates.set(server, templates)
    if (templates.size < MAX_TEMPLATES) templates.add(name)
  }

  /** Returns the first server that offers it, and a resource by its template only if none does. */
  serverOf(kind: NameKind, servers: number, name: string): number | undefined {
    return this.#serversOf(kind, servers, name)[0]
  }

  /** Returns the server that offers it, if it is the only one. */
  onlyServerOf(kind: NameKind, servers: number, name: string): number | undefined {
    const [server, ...others] = this.#serversOf(kind, servers, name)
    return others.length === 0 ? server : undefined
  }

  #serversOf(kind: NameKind, servers: number, name: string): readonly number[] {
    const all = Array.from({ length: servers }, (_, server) => server)
    const offering = all.filter((server) => this.knows(kind, server, name))
    if (offering.length > 0 || kind !== 'resource') return offering
    return all.filter((server) =>
      this.#templates
        .get(server)
        ?.values()
        .some((own) => mayExpandTo(own, name)),
    )
  }
}
