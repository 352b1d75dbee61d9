import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import type { Json, Tree, Written } from './document.ts'
import type { World } from './gateways.ts'
import type { Random } from './random.ts'
import type { Tools } from './tools.ts'
import type { Outcome, Probe } from './wire.ts'

/** One file, and what sockets did with the probes. */
export interface Side {
  readonly name: 'old' | 'now'
  readonly tree: Tree
  readonly file: string
  readonly written: Written
  readonly outcomes: readonly Outcome[]
  /** With all policies taken out: where each request would go if nobody stood in its way. */
  readonly open: readonly Outcome[]
  readonly records: readonly (readonly DecisionRecord[])[]
}

export interface Pair {
  readonly world: World
  readonly random: Random
  readonly tools: Tools
  readonly probes: readonly Probe[]
  readonly old: Side
  readonly now: Side
  readonly count: (what: string) => void
}

/** Something that was said of all requests, or of one, and is not so. */
export interface FalseClaim {
  /** Alike for all of one kind: what reducing a pair must keep. */
  readonly kind: string
  readonly claim: string
  readonly observed: string
  readonly probe?: Json
}

/** Each asks a command, and compares what it says with what happened. */
export type Check = (pair: Pair) => Promise<readonly FalseClaim[]>
