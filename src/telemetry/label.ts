/** A label whose values come from the configuration, which bounds their number. */
export interface OpenLabel<N extends string = string> {
  readonly name: N
  readonly meaning: string
  readonly values?: undefined
}

/** A label with a fixed list of values; any other value counts as `other`. */
export interface ClosedLabel<N extends string = string, V extends string = string> {
  readonly name: N
  readonly meaning: string
  readonly values: readonly V[]
}

export type Label = OpenLabel | ClosedLabel

/** In a list of labels, the open ones come first. */
export type Labels = readonly Label[]

/** A value for each label. */
export type LabelValues<L extends Labels> = {
  readonly [E in L[number] as E['name']]: ValueOf<E>
}

/** A value for each open label. */
export type OpenValues<L extends Labels> = {
  readonly [E in L[number] as E extends ClosedLabel ? never : E['name']]: string
}

/** A value for each closed label, in order. */
export type ClosedValues<L extends Labels> = L extends readonly [infer First, ...infer Rest]
  ? [
      ...(First extends ClosedLabel ? [ValueOf<First>] : []),
      ...(Rest extends Labels ? ClosedValues<Rest> : []),
    ]
  : []

type ValueOf<E> = E extends ClosedLabel<string, infer V> ? V : string

/** The value for everything above the series limit, or not in the list of a closed label. */
export const OTHER = 'other'

export function label<const N extends string>(name: N, meaning: string): OpenLabel<N>
export function label<const N extends string, const V extends string>(
  name: N,
  meaning: string,
  values: readonly V[],
): ClosedLabel<N, V | typeof OTHER>
export function label(name: string, meaning: string, values?: readonly string[]): Label {
  if (values === undefined) return { name, meaning }
  return { name, meaning, values: values.includes(OTHER) ? values : [...values, OTHER] }
}
