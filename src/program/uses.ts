import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { collector } from '../diagnostics/report.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { HeaderReads, HeadersRead } from './headers-read.ts'

/**
 * What was opened, kept and found while a part of a Program was compiled. The next Program that
 * takes the part over takes these over with it; what no part uses any more is closed. Parts that
 * share something share the uses of it.
 */
export class Uses {
  readonly state: (readonly [key: string, kept: unknown])[] = NONE
  readonly clusters: (readonly [key: string, cluster: Cluster])[] = NONE
  readonly diagnostics: Diagnostic[] = NONE
  readonly headers: HeaderReads[] = NONE
  readonly parts: Uses[] = NONE
  /** How many parts that are counted have it: see ./uses-tally.ts. */
  references = 0

  /** Lists are made when they are needed: most parts of thousands have none. */
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

  /** Nothing is its own. */
  get isOfParts(): boolean {
    const { state, clusters, diagnostics, headers } = this
    return state.length + clusters.length + diagnostics.length + headers.length === 0
  }

  /** Whether anything was found in it that is reported. */
  get isReported(): boolean {
    return this.diagnostics.length > 0 || this.parts.some((part) => part.isReported)
  }

  /** Undefined where it has nothing; the only part where it has nothing else. */
  plain(): Uses | undefined {
    return this.isOfParts && this.parts.length < 2 ? this.parts[0] : this
  }
}

const NONE: never[] = []

/** Something that others may share, with what it uses. */
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

/** Of all parts of a Program. */
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
      // Thousands of routes in a row use the same.
      if (uses !== last) visit(uses)
      last = uses
    }
  }
  return { state, clusters, headersRead: { names, all }, diagnostics: diagnostics() }
}
