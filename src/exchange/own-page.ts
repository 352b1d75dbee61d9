import type { Step } from './step.ts'

/** A page that the gateway itself serves, such as a redirect target for browsers. */
export interface OwnPage {
  /** A hostname without a port. */
  readonly host: string
  readonly path: string
  /** Undefined: the request is for another policy with a page at the same path. */
  readonly step: Step
}
