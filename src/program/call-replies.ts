import type { Reply } from '../exchange/reply.ts'
import type { LlmError } from '../protocols/llm/error.ts'
import { invalid } from './model-attributes.ts'

/* Replies to clients whose calls to models cannot be made. */

export const UNGUARDED = invalid('Responses of this API cannot be guarded.', 'unsupported_endpoint')

export const UNNAMED = invalid('The model of this call cannot be determined.', 'model_not_found')

export const UNENRICHED = invalid(
  'Messages cannot be added to calls to this API.',
  'unsupported_endpoint',
)

export const UNCHANGEABLE = invalid(
  'Fields and messages of calls to this API cannot be changed or guarded.',
  'unsupported_endpoint',
)

/** The reply for a call that a dialect cannot read or translate. */
export function rejected({ status, message, code }: LlmError): Reply {
  return { ...invalid(message, code), status }
}

/**
 * Guards return either members of the call's content or a Reply, which always has these members.
 */
export function isReply(guarded: object): guarded is Reply {
  return 'reason' in guarded && 'status' in guarded
}
