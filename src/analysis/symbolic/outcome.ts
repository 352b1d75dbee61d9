/** What a condition can come to in CEL's three-valued logic, as a set: bits of one number. */
export type Outcomes = number

export const TRUE: Outcomes = 1
export const FALSE: Outcomes = 2
/** An error, such as reading what is unset. */
export const ERROR: Outcomes = 4
export const ANY: Outcomes = TRUE | FALSE | ERROR
/** What a rule that is not definitely true can be. */
export const NOT_TRUE: Outcomes = FALSE | ERROR

export function outcomeOf(value: unknown): Outcomes {
  if (value === true) return TRUE
  return value === false ? FALSE : ERROR
}

/** The outcomes of `!x` for those of `x`. */
export function swapped(outcomes: Outcomes): Outcomes {
  return (outcomes & ERROR) | (outcomes & TRUE ? FALSE : 0) | (outcomes & FALSE ? TRUE : 0)
}
