import { show } from '../values/show.ts'
import type { Cause, Explanation } from './explanation.ts'

/** An atomic part of a rule, as shown to users. */
export interface Condition {
  readonly text: string
  /** `undefined`: an error; see `cause`. */
  readonly value: boolean | undefined
  readonly cause: Cause | undefined
  /** The attributes it reads: `jwt.group` is `'dev'`. */
  readonly operands: readonly { readonly text: string; readonly value: string | undefined }[]
}

/** The conditions of a rule from left to right, including those that a short-circuit would skip. */
export function conditionsOf(explanation: Explanation, text: string): readonly Condition[] {
  const { term, parts } = explanation
  switch (term.kind) {
    case 'and':
    case 'or':
    case 'not':
    case 'conditional':
      return parts.flatMap((part) => conditionsOf(part, text))
    case 'bind':
      return conditionsOf(parts.at(-1) as Explanation, text)
    default:
      return [conditionOf(explanation, text)]
  }
}

function conditionOf(explanation: Explanation, text: string): Condition {
  const { term, value, cause } = explanation
  const operands = new Map<string, string | undefined>()
  // A bare name is its own operand.
  const looked = isAttribute(explanation) ? [explanation] : explanation.parts
  for (const part of looked) collect(part, text, operands)
  return {
    text: text.slice(term.start, term.end),
    value: typeof value === 'boolean' ? value : undefined,
    cause:
      value === undefined || typeof value === 'boolean'
        ? cause
        : { kind: 'error', reason: 'not a bool', detail: undefined },
    operands: [...operands].map(([name, shown]) => ({ text: name, value: shown })),
  }
}

function collect(part: Explanation, text: string, operands: Map<string, string | undefined>): void {
  const { term, value } = part
  // For a presence test, the result says it all.
  if (term.kind === 'field' && term.access === 'test') return
  if (isAttribute(part)) {
    operands.set(text.slice(term.start, term.end), value === undefined ? undefined : show(value))
    return
  }
  // The results of a macro's body for every element would take a page.
  const inner = part.term.kind === 'loop' ? part.parts.slice(0, 1) : part.parts
  for (const own of inner) collect(own, text, operands)
}

function isAttribute({ term }: Explanation): boolean {
  return term.kind === 'field' || term.kind === 'variable' || term.kind === 'index'
}
