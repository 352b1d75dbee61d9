import { BOOL, STRING, type Type } from '../cel/check/types.ts'
import { type CompileOptions, compile, type Expression, STAGES, type Stage } from '../cel/index.ts'
import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Section } from '../model/policy.ts'
import type { ResultType } from './annotations.ts'

/**
 * All diagnostics of an expression at its stage. `isCompiledNext`: a Program will be compiled from
 * the input and need not check the expression again.
 */
export function checkExpression(
  text: string,
  stage: Stage,
  result: ResultType,
  origin: (offset: number) => Origin,
  isCompiledNext = false,
): readonly Diagnostic[] {
  const compiled = compile(text, STAGES[stage], { ...expectation(result), origin })
  const { expression, diagnostics } = compiled
  if (isCompiledNext && expression !== undefined && diagnostics.length === 0) {
    expression.release()
    if (checked.size < MAX_CHECKED) checked.set(keyOf(text, stage, result), expression)
  }
  return diagnostics
}

/**
 * Expressions that were checked without diagnostics, without their trees. Parsing and checking is
 * most of the time to compile an expression, and a configuration may have thousands.
 */
const checked = new Map<string, Expression>()
const MAX_CHECKED = 20_000

/** An expression checked since the last Program was compiled; the caller becomes its only owner. */
export function takeChecked(
  text: string,
  stage: Stage,
  result: ResultType,
): Expression | undefined {
  const key = keyOf(text, stage, result)
  const found = checked.get(key)
  if (found !== undefined) checked.delete(key)
  return found
}

/** Called after a Program is compiled: the remaining expressions are not needed. */
export function forgetChecked(): void {
  checked.clear()
}

function keyOf(text: string, stage: Stage, result: ResultType): string {
  return `${stage} ${result} ${text}`
}

/** What the compiler must require of an expression with this result. */
export function expectation(result: ResultType): Pick<CompileOptions, 'expect' | 'pure'> {
  const expect = EXPECTED[result]
  return expect === undefined ? {} : { expect, pure: result === 'rule' }
}

const EXPECTED: Readonly<Record<ResultType, Type | undefined>> = {
  bool: BOOL,
  rule: BOOL,
  string: STRING,
  any: undefined,
}

/** The stage at which expressions of a section run, unless a policy specifies another. */
export const STAGE_OF_SECTION: Readonly<Record<Section, Stage>> = {
  frontend: 'connection',
  traffic: 'traffic',
  backend: 'backend',
}
