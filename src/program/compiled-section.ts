import type { Decider } from '../exchange/decision.ts'
import type { Step } from '../exchange/step.ts'
import type { Attached } from '../model/policy.ts'
import type { Meter } from '../policies/define.ts'
import type { MirrorTarget, Retry, Timeouts } from '../policies/delivery.ts'
import type { WayBack } from './way-back.ts'

/** All policies of one section at one point, as what runs. */
export interface CompiledSection extends WayBack {
  readonly steps: readonly Step[]
  readonly run: Step
  /** The policy of each step. */
  readonly kinds: readonly string[]
  readonly readsBody: boolean
  readonly readsBeginning: boolean
  /** Paths at which a policy reads the whole body. */
  readonly bodyPaths: ReadonlySet<string> | undefined
  /** An expression reads it, and so what stands behind its Content-Encoding. */
  readonly decodesBody: boolean
  /** A rule reads of a call to a model more than its provider. */
  readonly readsModel: boolean
  readonly timeouts: Timeouts
  readonly retry: Retry | undefined
  readonly mirrors: readonly MirrorTarget[]
  /** For which limits calls to models count, for whoever does not run the steps. */
  readonly meters: readonly Meter[]
  /** All that find out who asks, the gateway's first. */
  readonly authentications: readonly Attached[]
  /** Of its authorization rules, where there are any. */
  readonly decider: Decider | undefined
}
