import { BOOL, STRING, type Type } from '../cel/check/types.ts'
import { type CompileOptions, compile, type Expression, STAGES, type Stage } from '../cel/index.ts'
import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Section } from '../model/policy.ts'
import type { ResultType } from './annotations.ts'

/**
 * All that the compiler says of an expression at its stage. `isCompiledNext`: a Program is made of
 * what is read, and then need not check it again.
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
 * Expressions that a reader found nothing to say about, without their trees. To parse and to check
 * one takes most of the time of compiling it, and a configuration may have thousands.
 */
const checked = new Map<string, Expression>()
const MAX_CHECKED = 20_000

/** One that a reader checked since the last Program was made; whoever takes it has it alone. */
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

/** When a Program is made: what it did not take nobody will. */
export function forgetChecked(): void {
  checked.clear()
}

function keyOf(text: string, stage: Stage, result: ResultType): string {
  return `${stage} ${result} ${text}`
}

/** What the compiler has to demand of an expression with this result. */
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

/** Where the expressions of a section run, unless a policy says otherwise. */
export const STAGE_OF_SECTION: Readonly<Record<Section, Stage>> = {
  frontend: 'connection',
  traffic: 'traffic',
  backend: 'backend',
}
