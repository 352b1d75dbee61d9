import { stepsOf } from '../../../src/model/json-pointer.ts'

/** A JSON pointer (RFC 6901) as messages write fields: `policies.authorization.rules[0]`. */
export function fieldName(pointer: string): string {
  return stepsOf(pointer)
    .map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('')
}
