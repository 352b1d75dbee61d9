import type { ExampleRequest } from '../../analysis/diff/example.ts'
import { type ProofResult, prove } from '../../analysis/invariants/prove.ts'
import { unknownNames } from '../../analysis/invariants/scope.ts'
import type { Invariant } from '../../analysis/invariants/suppose.ts'
import type { Diagnostic, Origin, Position } from '../../diagnostics/diagnostic.ts'
import { nearestName } from '../../diagnostics/nearest.ts'
import type { Model } from '../../model/model.ts'
import { decideExample } from '../diff.ts'
import { openVerdicts } from '../verdicts.ts'

export interface InvariantResult {
  readonly name: string
  readonly origin: Origin | Position
  readonly verdict: ProofResult
  /** Whether the command may succeed with this verdict. */
  readonly isPassed: boolean
  readonly milliseconds: number
}

/** Evaluates each invariant with the program that would serve the configuration. */
export function runInvariants(
  model: Model,
  invariants: readonly Invariant[],
  allowsNotKnown: boolean,
): readonly InvariantResult[] {
  return invariants.map((invariant) => {
    const began = performance.now()
    const verdict = prove(model, invariant, open)
    const { name, origin } = invariant
    const isPassed = verdict.kind === 'proven' || (verdict.kind === 'not known' && allowsNotKnown)
    return { name, origin, verdict, isPassed, milliseconds: performance.now() - began }
  })
}

function open(model: Model) {
  const verdicts = openVerdicts(model)
  return {
    decide: (request: ExampleRequest) => decideExample(verdicts, request),
    close: () => verdicts.close(),
  }
}

/** Reports names in `on` that the configuration does not have. */
export function checkScopes(model: Model, invariants: readonly Invariant[]): readonly Diagnostic[] {
  return invariants.flatMap(({ on, origin }) =>
    unknownNames(model, on).map(({ key, name, available }) => {
      const meant = nearestName(name, available)
      const list = `available: ${available.join(', ') || 'none'}`
      const hint = meant === undefined ? list : `did you mean \`${meant}\`? ${list}`
      const message = `unknown ${key} \`${name}\``
      return { code: 'PC0602', severity: 'error', message, origin, hint } as const
    }),
  )
}
