import type { StoredResource } from './merge.ts'

/** Stored resources as text for another process, in small steps: each is a line of its own. */
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
