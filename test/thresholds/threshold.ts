/** Where the implementation changes with a size, although the result must not. */
export interface Threshold {
  readonly file: string
  /** The comparisons as they are written in the file: a constant's name or a number on one side. */
  readonly tests: readonly string[]
  /** The constant, if it is not in the comparisons. */
  readonly constant?: string
  readonly switches: string
  /** The constant's file, if it is imported. */
  readonly declaredIn?: string
  /** Instead of 0, 1 and infinity, where these are not possible. */
  readonly values?: readonly [number, number, number]
}

/** In reverse, where a neighbor with the same value hides one side. */
export const UNHIDDEN = [Number.POSITIVE_INFINITY, 1, 0] as const

/** Thresholds with the tests whose properties must hold on both sides of them. */
export interface Group {
  readonly name: string
  readonly tests: readonly string[]
  /** Titles of tests that say which side the product takes by itself. */
  readonly except?: readonly string[]
  /** FUZZ_RUNS, where the usual few draws reach too little. */
  readonly runs?: number
  readonly thresholds: readonly Threshold[]
}

/** All at one value. */
const UNIFORM = ['0', '1', 'Infinity'] as const
/** Neighbors on different sides, since one threshold may hide another: nights try these, too. */
const MIXED = ['even', 'odd'] as const

export type Setting = (typeof UNIFORM)[number] | (typeof MIXED)[number] | 'default'

export const SETTINGS: readonly Setting[] = [...UNIFORM, ...MIXED]

export function chosenSettings(): readonly Setting[] {
  return process.env['THRESHOLDS_MIXED'] === undefined ? UNIFORM : SETTINGS
}

/** `undefined` for the product's own value. */
export function valueAt(threshold: Threshold, setting: Setting, index: number): number | undefined {
  if (setting === 'default') return undefined
  const [none, single, all] = threshold.values ?? [0, 1, Number.POSITIVE_INFINITY]
  if (setting === 'even') return index % 2 === 0 ? none : all
  if (setting === 'odd') return index % 2 === 0 ? all : none
  return setting === '0' ? none : setting === '1' ? single : all
}

const OPERAND = /[<>]=? (?:(?<name>[A-Z][A-Z0-9_]*)|(?<number>[0-9][0-9_]*(?: \*\* [0-9]+)?))$/

/** The name of the constant, or `undefined` for a number. */
export function constantOf(threshold: Threshold): string | undefined {
  if (threshold.constant !== undefined) return threshold.constant
  return OPERAND.exec(threshold.tests[0] as string)?.groups?.name
}

/** The comparison with another number on its right. */
export function withOperand(test: string, value: number): string {
  return test.replace(OPERAND, (all) => `${all.slice(0, all.indexOf(' '))} ${value}`)
}
