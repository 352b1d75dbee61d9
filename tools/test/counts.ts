export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export const NO_TESTS: Counts = { passed: 0, failed: 0, skipped: 0 }

const LINE = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\b/

/** Reads a line such as `12 passed, 0 failed, 1 skipped (3.0 s)`. */
export function parseCounts(line: string): Counts | undefined {
  const [, passed, failed, skipped = 0] = LINE.exec(line) ?? []
  if (passed === undefined) return undefined
  return { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) }
}

export function addCounts(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
  }
}

export function renderCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`
}

export function total({ passed, failed, skipped }: Counts): number {
  return passed + failed + skipped
}
