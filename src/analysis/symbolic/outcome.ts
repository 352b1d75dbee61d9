/** The possible outcomes of a condition in CEL's three-valued logic, as a bit set. */
export type Outcomes = number

export const TRUE: Outcomes = 1
export const FALSE: Outcomes = 2
/** An error, such as reading an unset attribute. */
export const ERROR: Outcomes = 4
export const ANY: Outcomes = TRUE | FALSE | ERROR
/** The outcomes of a rule that is not definitely true. */
export const NOT_TRUE: Outcomes = FALSE | ERROR

export function outcomeOf(value: unknown): Outcomes {
  if (value === true) return TRUE
  return value === false ? FALSE : ERROR
}

/** The outcomes of `!x` for those of `x`. */
export function swapped(outcomes: Outcomes): Outcomes {
  return (outcomes & ERROR) | (outcomes & TRUE ? FALSE : 0) | (outcomes & FALSE ? TRUE : 0)
}
