import type { Step } from './step.ts'

/** A page of the gateway itself, such as one that a browser is sent back to. */
export interface OwnPage {
  /** A hostname, without a port. */
  readonly host: string
  readonly path: string
  /** Undefined: the request is meant for another policy with a page at the same place. */
  readonly step: Step
}
