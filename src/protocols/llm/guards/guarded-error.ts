import { type LlmError, typeOfStatus } from '../error.ts'
import { guardMessagesNow } from './guard-messages.ts'
import { type Guard, isRemote } from './guard-rule.ts'

/** An error without the words of the provider. */
export function generalError({
  status,
  type = typeOfStatus(status),
  retryAfterMs,
  shouldRetry,
  requestId,
}: Partial<LlmError> & Pick<LlmError, 'status'>): LlmError {
  const message = `The provider failed with status ${status}.`
  return { status, type, message, retryAfterMs, shouldRetry, requestId }
}

/** The same of a body that passes otherwise; undefined if it must not be sent. */
export function guardedErrorBody(
  body: Uint8Array,
  guards: readonly Guard[],
): Uint8Array | undefined {
  if (guards.length === 0) return body
  const rules = guards.flatMap((guard) => (isRemote(guard) ? [] : [guard]))
  if (rules.length < guards.length) return undefined
  const content = Buffer.from(body).toString('utf8')
  const guarded = guardMessagesNow([{ role: 'assistant', content }], rules)
  return 'status' in guarded ? undefined : Buffer.from(guarded[0] ?? '')
}

/**
 * The error of a provider as guards let clients see it: providers quote prompts and outputs. It is
 * reported in general terms if it is rejected, or if a service would have to check it.
 */
export function guardedError(error: LlmError, guards: readonly Guard[]): LlmError {
  if (guards.length === 0) return error
  const rules = guards.flatMap((guard) => (isRemote(guard) ? [] : [guard]))
  const texts = [error.message, error.code ?? '', error.param ?? '']
  const messages = texts.map((content) => ({ role: 'assistant', content }))
  const guarded = rules.length < guards.length ? undefined : guardMessagesNow(messages, rules)
  if (guarded === undefined || 'status' in guarded) {
    return generalError(error)
  }
  const [message = '', code = '', param = ''] = guarded
  return { ...error, message, code: code || undefined, param: param || undefined }
}
