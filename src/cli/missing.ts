const HEADER = /^request\.headers(?:\.(\w+)|\[(?:'([^']*)'|"([^"]*)")\])$/

/** `header x-team is missing`, with the names that are present. */
export function missingHint(path: string, present: readonly string[] = []): string {
  const [, ...names] = HEADER.exec(path) ?? []
  const header = names.find((name) => name !== undefined)
  const what = header === undefined ? path : `header ${header}`
  return `${what} is missing${present.length === 0 ? '' : `; present: ${present.join(', ')}`}`
}
