import { BOOL, STRING, type Type } from '../cel/check/types.ts'
import { type CompileOptions, compile, STAGES, type Stage } from '../cel/index.ts'
import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Section } from '../model/policy.ts'
import type { ResultType } from './annotations.ts'

/** All that the compiler says of an expression at its stage. */
export function checkExpression(
  text: string,
  stage: Stage,
  result: ResultType,
  origin: (offset: number) => Origin,
): readonly Diagnostic[] {
  return compile(text, STAGES[stage], { ...expectation(result), origin }).diagnostics
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
