import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { type Result, rejection } from '../../diagnostics/result.ts'
import type { Model } from '../../model/model.ts'
import { rejectedParts } from '../../model/rejected-parts.ts'

/** Messages beyond the limit were left out, and may be anything. */
const LEFT_OUT = 'PC0001'

/**
 * A Model that may be applied part by part: each of its errors is held by a part that fails closed.
 * An error that no part holds, as that of a policy whose target cannot be read, leaves open what
 * would have to be closed; so there is no Model then.
 */
export function confine(result: Result<Model>): Result<Model> {
  const { value: model, diagnostics } = result
  const isWrong = ({ severity, code }: Diagnostic) => severity === 'error' || code === LEFT_OUT
  if (model === undefined || !diagnostics.some(isWrong)) return result
  const held = new Set(rejectedParts(model, []).flatMap((part) => part.diagnostics.map(identity)))
  const loose = diagnostics.filter(
    (one) => isWrong(one) && (one.code === LEFT_OUT || !held.has(identity(one))),
  )
  const [first] = loose
  return first === undefined ? result : rejection([...diagnostics, unconfined(first, loose.length)])
}

function identity({ code, message, origin }: Diagnostic): string {
  return JSON.stringify([code, message, origin])
}

function unconfined({ origin }: Diagnostic, count: number): Diagnostic {
  const others = count === 1 ? '' : ` (and ${count - 1} more)`
  return {
    code: 'PC0406',
    severity: 'error',
    message: `the whole configuration is rejected: this error${others} cannot be confined to a single resource`,
    origin,
    hint: 'fix this error first; an error inside a policy, backend, listener or certificate disables only that resource',
  }
}
