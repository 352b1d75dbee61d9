import type { BodyPart } from '../exchange/body-part.ts'
import type { HeadChange, ResponseStep } from '../exchange/response-draft.ts'
import type { PolicyPlace } from '../model/policy.ts'
import type { Part } from '../policies/define.ts'

/** The part of one policy on the way back, or for the body of a request. */
export interface PlacedPart {
  readonly policy: PolicyPlace | undefined
  readonly response?: ResponseStep | undefined
  readonly otherHead?: HeadChange | undefined
  readonly body?: BodyPart | undefined
}

/** Parts that run in addition to the steps; undefined if there are none. */
export interface WayBack {
  /** In the order in which they process a response. */
  readonly responseParts?: readonly PlacedPart[] | undefined
  /** In the order of execution. */
  readonly requestBodies?: readonly PlacedPart[] | undefined
}

export interface CompiledPart {
  readonly part: Part
  readonly policy: PolicyPlace | undefined
}

const NO_WAY_BACK: WayBack = {}

/** An expression reads the body, so it must be complete before any step of the section runs. */
const WHOLE: PlacedPart = {
  policy: undefined,
  body: { mode: 'whole', maxBytes: undefined, whenLonger: 'reject', isRead: true },
}

export function wayBackOf(compiled: readonly CompiledPart[], readsResponseBody: boolean): WayBack {
  if (!compiled.some(({ part }) => part.response || part.requestBody || part.responseBody))
    return NO_WAY_BACK
  const back = compiled.flatMap(({ part: { response, otherHead, responseBody: body }, policy }) =>
    response === undefined && body === undefined ? [] : [{ policy, response, otherHead, body }],
  )
  const responseParts = [...(readsResponseBody ? [WHOLE] : []), ...back.reverse()]
  const requestBodies = compiled.flatMap(({ part: { requestBody: body }, policy }) =>
    body === undefined ? [] : [{ policy, body }],
  )
  return {
    responseParts: back.length === 0 ? undefined : responseParts,
    requestBodies: requestBodies.length === 0 ? undefined : requestBodies,
  }
}

/** Whether policies act on responses or on bodies. */
export function hasWayBack(program: WayBack | undefined): boolean {
  return program?.responseParts !== undefined || program?.requestBodies !== undefined
}
