import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { collector } from '../diagnostics/report.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { HeaderReads, HeadersRead } from './headers-read.ts'

/**
 * What was opened, kept and found while a part of a Program was compiled. The next Program that
 * reuses the part reuses these too; what no part uses any longer is closed. Parts that share
 * something share its uses.
 */
export class Uses {
  readonly state: (readonly [key: string, kept: unknown])[] = NONE
  readonly clusters: (readonly [key: string, cluster: Cluster])[] = NONE
  readonly diagnostics: Diagnostic[] = NONE
  readonly headers: HeaderReads[] = NONE
  readonly parts: Uses[] = NONE
  /** How many counted parts have it: see ./uses-tally.ts. */
  references = 0

  /** Lists are allocated on demand: most of the thousands of parts have none. */
  add<K extends 'state' | 'clusters' | 'diagnostics' | 'headers'>(kind: K, own: Uses[K][number]) {
    const lists = this as unknown as Record<K, Uses[K][number][]>
    if (lists[kind].length === 0) lists[kind] = [own]
    else lists[kind].push(own)
  }

  link(part: Uses): void {
    const only = part.plain()
    if (only === undefined || this.parts.at(-1) === only) return
    const lists = this as { parts: Uses[] }
    if (lists.parts.length === 0) lists.parts = [only]
    else lists.parts.push(only)
  }

  /** Whether it only has parts, and no entries itself. */
  get isOfParts(): boolean {
    const { state, clusters, diagnostics, headers } = this
    return state.length + clusters.length + diagnostics.length + headers.length === 0
  }

  /** Undefined if it is empty; its only part if it has nothing else. */
  plain(): Uses | undefined {
    return this.isOfParts && this.parts.length < 2 ? this.parts[0] : this
  }
}

const NONE: never[] = []

/** A value that others may share, with its uses. */
export interface Recorded<T> {
  readonly value: T
  readonly uses: Uses
}

export interface AllUses {
  readonly state: ReadonlyMap<string, unknown>
  readonly clusters: ReadonlyMap<string, Cluster>
  readonly headersRead: HeadersRead
  readonly diagnostics: readonly Diagnostic[]
}

/** The uses of all parts of a Program. */
export function allUses(parts: Iterable<readonly { readonly uses: Uses }[]>): AllUses {
  const state = new Map<string, unknown>()
  const clusters = new Map<string, Cluster>()
  const { report, diagnostics } = collector()
  const names = new Set<string>()
  let all = false
  const seen = new Set<Uses>()
  const visit = (uses: Uses) => {
    if (seen.has(uses)) return
    seen.add(uses)
    for (const [key, kept] of uses.state) state.set(key, kept)
    for (const [key, cluster] of uses.clusters) clusters.set(key, cluster)
    for (const own of uses.diagnostics) report(own)
    for (const reads of uses.headers) {
      all ||= reads.all
      for (const name of reads.names) names.add(name)
    }
    for (const part of uses.parts) visit(part)
  }
  for (const list of parts) {
    let last: Uses | undefined
    for (let i = 0; i < list.length; i++) {
      const { uses } = list[i] as { readonly uses: Uses }
      // Thousands of consecutive routes have the same uses.
      if (uses !== last) visit(uses)
      last = uses
    }
  }
  return { state, clusters, headersRead: { names, all }, diagnostics: diagnostics() }
}
