/** Removes members that are undefined: the Model has none. */
export function omitUndefined<T extends object>(value: T): Defined<T> {
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members) as Defined<T>
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }
