export type { Environment, Variable } from './check/environment.ts'
export { type Compiled, type CompileOptions, compile, type Expression } from './compile.ts'
export type { Variables } from './emit/functions.ts'
export { environment } from './environment.ts'
export { type Condition, conditionsOf } from './explain/conditions.ts'
export type { Cause, Explanation } from './explain/explanation.ts'
export { nearer } from './explain/miss.ts'
export { readValue } from './explain/read-value.ts'
export {
  causeOf,
  explainRule,
  explainRules,
  isCut,
  isOverBound,
  type RuleExplanation,
  type Verdict,
} from './rules/explain-rules.ts'
export {
  type Action,
  compileFewRules,
  compileRule,
  compileRules,
  type Rule,
  type RuleSet,
} from './rules/rule-set.ts'
export { STAGES, type Stage } from './stages.ts'
export { ledgerOf } from './values/fuel.ts'
export { LEDGER, Ledger } from './values/ledger.ts'
export type { Value } from './values/value.ts'
