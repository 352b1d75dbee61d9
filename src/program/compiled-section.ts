import type { Decider } from '../exchange/decision.ts'
import type { Step } from '../exchange/step.ts'
import type { Attached } from '../model/policy.ts'
import type { Meter } from '../policies/define.ts'
import type { MirrorTarget, Retry, Timeouts } from '../policies/delivery.ts'
import type { WayBack } from './way-back.ts'

/** All policies of one section at one point, compiled. */
export interface CompiledSection extends WayBack {
  readonly steps: readonly Step[]
  readonly run: Step
  /** The policy kind of each step. */
  readonly kinds: readonly string[]
  readonly readsBody: boolean
  readonly readsBeginning: boolean
  /** Paths at which a policy reads the whole body. */
  readonly bodyPaths: ReadonlySet<string> | undefined
  /** An expression reads the body, so its Content-Encoding must be decoded. */
  readonly decodesBody: boolean
  /** A rule reads more of a call to a model than its provider. */
  readonly readsModel: boolean
  readonly timeouts: Timeouts
  readonly retry: Retry | undefined
  readonly mirrors: readonly MirrorTarget[]
  /** The limits that calls to models count toward, for callers that do not run the steps. */
  readonly meters: readonly Meter[]
  /** All policies that authenticate clients, the gateway's first. */
  readonly authentications: readonly Attached[]
  /** Decides by the authorization rules, if there are any. */
  readonly decider: Decider | undefined
}
