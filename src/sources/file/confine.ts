import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { type Places, positioned } from '../../diagnostics/places.ts'
import { type Result, rejection } from '../../diagnostics/result.ts'
import type { Model } from '../../model/model.ts'
import { rejectedParts } from '../../model/rejected-parts.ts'

/** Diagnostics beyond the limit are omitted and may be anything. */
const LEFT_OUT = 'PC0001'

/**
 * Returns a Model that can be applied part by part: each of its errors belongs to a part that fails
 * closed. An error that belongs to no part, such as a policy whose target cannot be read, would
 * leave open what must be closed, so the whole Model is rejected.
 */
export function confine(result: Result<Model>, places: Places): Result<Model> {
  const { value: model, diagnostics } = result
  const isWrong = ({ severity, code }: Diagnostic) => severity === 'error' || code === LEFT_OUT
  if (model === undefined || !diagnostics.some(isWrong)) return result
  const held = new Set(
    rejectedParts(model, []).flatMap((part) =>
      part.diagnostics.map((one) => identity(positioned(places, one))),
    ),
  )
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
