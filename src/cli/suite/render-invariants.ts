import type { Counterexample } from '../../analysis/invariants/prove.ts'
import type { Unclear } from '../../analysis/invariants/suppose.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { exampleLines, placeOf } from '../diff.ts'
import type { InvariantResult } from './run-invariants.ts'

/** The code and severity reported for an invariant that is not proven. */
const CODES = {
  refuted: { code: 'PC0603', severity: 'error' },
  'not known': { code: 'PC0604', severity: 'error' },
} as const

/** Renders an invariant: a headline, followed by the reasons. */
export function invariantLines({ name, verdict }: InvariantResult): readonly string[] {
  switch (verdict.kind) {
    case 'proven':
      return [
        verdict.isVacuous
          ? `proven: ${name} (no request that it applies to is admitted)`
          : `proven: ${name}`,
      ]
    case 'refuted':
      return [`refuted: ${name}`, ...verdict.examples.flatMap(exampleOf)]
    case 'not known':
      return [`not known: ${name}`, ...verdict.because.map((one) => `  ${reasonOf(one)}`)]
  }
}

function exampleOf(found: Counterexample): readonly string[] {
  return [
    `  admitted at ${placeOf(found)}:`,
    ...exampleLines(found.example).map((line) => `    ${line}`),
    `  but ${found.reason}`,
  ]
}

function reasonOf({ why, ...place }: Unclear): string {
  return `${placeOf(place)}: ${why}`
}

/** The same for code hosts and editors; proven invariants are omitted. */
export function invariantDiagnostics(result: InvariantResult): readonly Diagnostic[] {
  const { name, origin, verdict } = result
  if (verdict.kind === 'proven') return []
  const [, ...reasons] = invariantLines(result)
  const words = verdict.kind === 'refuted' ? 'does not hold' : 'could not be proven'
  const message = `invariant \`${name}\` ${words}`
  const hint = reasons.map((line) => line.trim()).join('\n')
  return [{ ...CODES[verdict.kind], message, origin, hint }]
}
