import type { Batch } from './batches.ts'
import type { Counts } from './counts.ts'
import { type BatchOptions, runBatches } from './run-batches.ts'

/** With more failures it is not the machine. */
const MAX_FAILURES = 6

/**
 * Runs batches. If only a few tests fail, their files run once more, by themselves: tests about
 * time fail on a machine that stalls. What passes then is counted as passed and named as unsteady,
 * with its first failure.
 */
export async function runWithRetry(
  batches: readonly Batch[],
  options: BatchOptions,
): Promise<Counts> {
  const lines: string[] = []
  const print = (line: string) => {
    lines.push(line)
    options.print(line)
  }
  const counts = await runBatches(batches, { ...options, print })
  const files = filesOfFailures(lines)
  if (counts.failed === 0 || counts.failed > MAX_FAILURES || files === undefined) return counts
  const second: string[] = []
  const again = await runBatches([{ files, cost: 0 }], {
    ...options,
    processes: 1,
    print: (line) => second.push(line),
  })
  if (again.passed === 0 || again.failed > 0) return counts
  for (const line of lines) {
    if (line.startsWith('failed: ')) options.print(line.replace('failed', 'unsteady'))
  }
  return { ...counts, passed: counts.passed + counts.failed, failed: 0 }
}

/** Undefined if a failure is not that of a test: its process ended, or it has no place. */
function filesOfFailures(lines: readonly string[]): readonly string[] | undefined {
  const files = new Set<string>()
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('failed: ')) continue
    const file = /^ {2}at (.+\.test\.ts):\d+:\d+$/.exec(lines[index + 1] ?? '')?.[1]
    if (file === undefined) return undefined
    files.add(file)
  }
  return [...files]
}
