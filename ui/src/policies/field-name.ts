import { stepsOf } from '../../../src/model/json-pointer.ts'

/** Formats a JSON pointer (RFC 6901) as in messages: `policies.authorization.rules[0]`. */
export function fieldName(pointer: string): string {
  return stepsOf(pointer)
    .map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('')
}
