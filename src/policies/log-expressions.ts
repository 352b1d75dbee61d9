import type { Value, Variables } from '../cel/index.ts'
import { type Json, toJson } from '../cel/values/json-write.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { HIDDEN } from '../model/redact.ts'
import type { CompileContext, PolicyExpression } from './define.ts'

/** A field that an expression computes. */
export interface ComputedField {
  readonly name: string
  /** Undefined if it has no value for this request: the field is then omitted. */
  readonly valueIn: (variables: Variables) => Json | undefined
  /** For `flatten(…)` and `flattenRecursive(…)`: a field for each member, below the name. */
  readonly entriesIn?: (variables: Variables) => readonly (readonly [string, Json])[]
}

/** What log expressions read, which must be available before they run. */
export interface LogReads {
  response: boolean
  responseHeaders: boolean
  /** `llm.completion`. */
  completion: boolean
}

export interface LogExpressions {
  readonly filter: ((variables: Variables) => boolean) | undefined
  readonly fields: readonly ComputedField[]
  readonly reads: Readonly<LogReads>
}

/**
 * Expressions that run after the exchange: which requests are recorded, and with what additional
 * fields. Fields computed from a header in `hidden`, or from all headers at once, are redacted.
 */
export function compileLogExpressions(
  policy: ValidPolicy,
  filter: string | undefined,
  fields: readonly (readonly [field: string, texts: Readonly<Record<string, string>>])[],
  context: CompileContext,
  hidden: readonly string[],
): LogExpressions {
  const reads: LogReads = { response: false, responseHeaders: false, completion: false }
  const compile = (text: string, field: string, result: 'bool' | 'any') => {
    const expression = context.compile(text, { policy, field, result, stage: 'log' })
    for (const { variable, fields } of expression?.reads ?? []) {
      const [field] = fields
      if (variable === 'llm') reads.completion ||= field === undefined || field === 'completion'
      if (variable !== 'response') continue
      reads.response = true
      reads.responseHeaders ||= field === undefined || field === 'headers'
    }
    return expression
  }
  const isWanted = filter === undefined ? undefined : compile(filter, 'filter', 'bool')?.predicate()
  const computed = fields.flatMap(([field, texts]) =>
    Object.entries(texts).flatMap(([name, text]): ComputedField[] => {
      const expression = compile(text, `${field}.${name}`, 'any')
      const evaluate = expression?.evaluate()
      if (expression === undefined || evaluate === undefined) return []
      const valueIn = (variables: Variables) => jsonOf(evaluate(variables))
      if (!readsHidden(expression.reads, hidden)) {
        const depth = flattened(expression)
        if (depth === 0) return [{ name, valueIn }]
        const entriesIn = (it: Variables) => entriesOf(name, valueIn(it), depth)
        return [{ name, valueIn, entriesIn }]
      }
      return [{ name, valueIn: (it) => (valueIn(it) === undefined ? undefined : HIDDEN) }]
    }),
  )
  return { filter: isWanted, fields: computed, reads }
}

interface Read {
  readonly variable: string
  readonly fields: readonly string[]
}

function readsHidden(reads: readonly Read[], hidden: readonly string[]): boolean {
  if (hidden.length === 0) return false
  return reads.some(({ variable, fields: [field, header] }) => {
    if (variable !== 'request' && variable !== 'response') return false
    if (field !== undefined && field !== 'headers') return false
    return header === undefined || hidden.includes(header.toLowerCase())
  })
}

function jsonOf(value: Value | undefined): Json | undefined {
  return value === undefined ? undefined : toJson(value)
}

/** How many levels become separate fields. */
function flattened({ term }: PolicyExpression): number {
  if (term.kind !== 'call' || term.args.length !== 1) return 0
  return FLATTENED[term.name] ?? 0
}

const FLATTENED: Readonly<Record<string, number>> = { flatten: 1, flattenRecursive: 16 }

/** Max fields from one expression. */
const MAX_ENTRIES = 256

function entriesOf(
  name: string,
  value: Json | undefined,
  depth: number,
): readonly (readonly [string, Json])[] {
  const found: (readonly [string, Json])[] = []
  const walk = (path: string, own: Json, left: number): void => {
    if (found.length >= MAX_ENTRIES) return
    if (left === 0 || typeof own !== 'object' || own === null) found.push([path, own])
    else for (const [key, member] of Object.entries(own)) walk(`${path}.${key}`, member, left - 1)
  }
  if (value !== undefined) walk(name, value, depth)
  return found
}
