/**
 * The reason of the latest error. Library functions return `undefined` on error and leave the
 * reason here: a store of two words instead of an error object. Callers that need the reason,
 * mostly explain mode, read it right after the call that failed.
 */
export const failure: { reason: string; detail: unknown } = { reason: '', detail: undefined }

/** `return fail('division by zero')`; `detail` is shown after the reason. */
export function fail(reason: string, detail?: unknown): undefined {
  failure.reason = reason
  failure.detail = detail
  return undefined
}
