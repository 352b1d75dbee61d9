declare const usable: unique symbol

/**
 * The ID of a request: letters, digits and few other characters, so that it can be used in logs,
 * URLs and headers unchanged. Only this file and ./create-request-id.ts create values of this type.
 */
export type RequestId = string & { readonly [usable]: true }

export const NO_REQUEST_ID = '' as RequestId

const USABLE = /^[A-Za-z0-9._-]{1,128}$/

/** An ID chosen elsewhere; undefined if it cannot be used unchanged. */
export function requestIdOf(text: string): RequestId | undefined {
  return USABLE.test(text) ? (text as RequestId) : undefined
}
