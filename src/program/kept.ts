import type { OwnPage } from '../exchange/own-page.ts'
import type { Program } from './program.ts'

/** State that lives across reloads, whichever policy created it. */
export interface Kept {
  /** No Program uses it any longer; requests in flight may still use it. */
  close?(): void
  /** Verified tokens that it caches. */
  readonly remembered?: number
  /** Names of policies with a rate limit, and the number of their keys. */
  limitedKeys?(): readonly [policy: string, count: number]
  /** The running processes of an MCP server. */
  mcpProcesses?(): readonly [target: string, count: number]
  /** Seconds since the keys of each issuer were fetched; issuers never fetched are omitted. */
  keyAges?(): Iterable<readonly [issuer: string, seconds: number]>
  /** Limits that it shares with other processes. */
  readonly quotas?: readonly string[]
  /** Pages that the gateway itself serves for it, before any route. */
  readonly pages?: readonly OwnPage[]
  /** Issuers whose keys it fetches. */
  readonly issuers?: readonly string[]
}

/** The state that only the previous Program has, to be closed. */
export function retiredKept(previous: Program, next: Program | undefined): readonly Kept[] {
  if (next?.state === previous.state) return []
  const used = new Set(next?.state.values())
  return [...previous.state.values()].filter((kept): kept is Kept => !used.has(kept))
}

export function closeKept(kept: readonly Kept[]): void {
  for (const one of kept) one.close?.()
}

/** Values for the gauges. */
export function keptFigures(program: Program | undefined) {
  let remembered = 0
  const ages = new Map<string, number>()
  const keys = new Map<string, number>()
  const processes = new Map<string, number>()
  for (const value of program?.state.values() ?? []) {
    const kept = value as Kept
    remembered += kept.remembered ?? 0
    const [policy, count] = kept.limitedKeys?.() ?? ['', 0]
    if (count > 0) keys.set(policy, count + (keys.get(policy) ?? 0))
    const [target, running] = kept.mcpProcesses?.() ?? ['', 0]
    if (target !== '') processes.set(target, running + (processes.get(target) ?? 0))
    for (const [issuer, seconds] of kept.keyAges?.() ?? []) {
      ages.set(issuer, Math.max(seconds, ages.get(issuer) ?? 0))
    }
  }
  return { remembered, ages, keys, processes }
}

/** All limits that are shared with other processes. */
export function quotasOf(program: Program | undefined): readonly string[] {
  return [...(program?.state.values() ?? [])].flatMap((kept) => (kept as Kept).quotas ?? [])
}

/** All pages that the gateway itself serves. */
export function pagesOf(state: Program['state']): readonly OwnPage[] {
  return [...state.values()].flatMap((kept) => (kept as Kept).pages ?? [])
}

/** All issuers whose keys are fetched. */
export function issuersOf({ state }: Program): ReadonlySet<string> {
  return new Set([...state.values()].flatMap((kept) => (kept as Kept).issuers ?? []))
}
