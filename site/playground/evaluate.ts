import { compile, conditionsOf, type Explanation, STAGES } from '../../src/cel/index.ts'
import { show } from '../../src/cel/values/show.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import { readRequest } from './request.ts'

export interface Evaluated {
  readonly isGood: boolean
  /** The outcome, in one line. */
  readonly result: string
  /** The parts of the expression, or its diagnostics. */
  readonly details: readonly string[]
}

/** Evaluates an expression for a request with the gateway's own checker and evaluator. */
export function evaluate(text: string, requestText: string): Evaluated {
  const variables = readRequest(requestText)
  if (typeof variables === 'string') return { isGood: false, result: variables, details: [] }
  const { expression, diagnostics } = compile(text, STAGES.traffic, { backend: 'closures' })
  if (expression === undefined) {
    return { isGood: false, result: 'Rejected', details: diagnostics.map(renderDiagnostic) }
  }
  const explanation = expression.explain(variables)
  const warnings = diagnostics.map(renderDiagnostic)
  return {
    isGood: explanation.value !== undefined,
    result: resultOf(explanation),
    details: [...warnings, ...partsOf(explanation, text)],
  }
}

export function renderDiagnostic({ code, message, hint }: Diagnostic): string {
  return `${code}: ${message}${hint === undefined ? '' : ` (hint: ${hint})`}`
}

/** Explains the result: each condition with its operands. */
export function partsOf(explanation: Explanation, text: string): readonly string[] {
  return conditionsOf(explanation, text).map(({ text: own, value, operands }) => {
    const seen = operands.map((one) => `${one.text} is ${one.value ?? 'not set'}`).join(', ')
    const outcome = value === undefined ? '' : ` is ${value}`
    return `${own}${outcome}${seen === '' ? '' : `: ${seen}`}`
  })
}

function resultOf({ value, cause }: Explanation): string {
  if (value !== undefined) return show(value)
  if (cause?.kind === 'unset') return `Error: \`${cause.variable}\` is not set`
  if (cause?.kind === 'missing') return `Error: \`${cause.path}\` is missing`
  return `Error: ${cause?.reason ?? 'no value'}`
}
