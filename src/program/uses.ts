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

  /** Undefined where it has nothing; the only part where it has nothing else. */
  plain(): Uses | undefined {
    const own = this.state.length + this.clusters.length + this.diagnostics.length
    if (own + this.headers.length > 0 || this.parts.length > 1) return this
    return this.parts[0]
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
export function allUses(roots: Iterable<Uses>): AllUses {
  const state = new Map<string, unknown>()
  const clusters = new Map<string, Cluster>()
  const { report, diagnostics } = collector()
  const names = new Set<string>()
  let all = false
  const seen = new Set<Uses>()
  const visit = (uses: Uses) => {
    for (const [key, kept] of uses.state) state.set(key, kept)
    for (const [key, cluster] of uses.clusters) clusters.set(key, cluster)
    for (const own of uses.diagnostics) report(own)
    for (const reads of uses.headers) {
      all ||= reads.all
      for (const name of reads.names) names.add(name)
    }
    for (const part of uses.parts) {
      if (seen.has(part)) continue
      seen.add(part)
      visit(part)
    }
  }
  for (const root of roots) visit(root)
  return { state, clusters, headersRead: { names, all }, diagnostics: diagnostics() }
}
