import type { StoredResource } from './merge.ts'

/** Serializes stored resources for another process, in small steps, one resource per line. */
export function* storedTextSteps(stored: readonly StoredResource[]): Generator<void, string> {
  const lines: string[] = []
  for (const one of stored) {
    lines.push(`${JSON.stringify(one)}\n`)
    yield
  }
  return lines.join('')
}

export function readStoredText(text: string): readonly StoredResource[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StoredResource)
}
