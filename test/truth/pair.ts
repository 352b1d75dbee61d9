import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import type { Json, Tree, Written } from './document.ts'
import type { World } from './gateways.ts'
import type { Random } from './random.ts'
import type { Tools } from './tools.ts'
import type { Outcome, Probe } from './wire.ts'

/** One file, and the outcomes of the probes on its sockets. */
export interface Side {
  readonly name: 'old' | 'now'
  readonly tree: Tree
  readonly file: string
  readonly written: Written
  readonly outcomes: readonly Outcome[]
  /** The outcomes without any policies: where each request would go if nothing denied it. */
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

/** A false statement about all requests or about one. */
export interface FalseClaim {
  /** Equal for all claims of one kind: reducing a pair must preserve it. */
  readonly kind: string
  readonly claim: string
  readonly observed: string
  readonly probe?: Json
}

/** Runs a command, and compares its statements with the outcomes. */
export type Check = (pair: Pair) => Promise<readonly FalseClaim[]>
