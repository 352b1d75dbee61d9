import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Batch } from './batches.ts'
import { addCounts, type Counts, NO_TESTS, parseCounts, total } from './counts.ts'

export interface BatchOptions {
  /** How many batches run at a time. */
  readonly processes: number
  /** Options of Node for each process. */
  readonly flags: readonly string[]
  readonly print: (line: string) => void
  readonly reporter?: string
}

/** Runs each batch in a process of its own and prints what the processes print, without counts. */
export async function runBatches(
  batches: readonly Batch[],
  options: BatchOptions,
): Promise<Counts> {
  const queue = [...batches]
  const results: Counts[] = []
  const lane = async () => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift())
      results.push(await runBatch(batch, options))
  }
  await Promise.all(Array.from({ length: options.processes }, lane))
  return results.reduce(addCounts, NO_TESTS)
}

const REPORTER = './tools/test-reporter.ts'

async function runBatch(
  { files }: Batch,
  { flags, print, reporter = REPORTER }: BatchOptions,
): Promise<Counts> {
  const node = [...flags, '--test', '--test-isolation=none', `--test-reporter=${reporter}`]
  const child = spawn(process.execPath, [...node, ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let counts: Counts | undefined
  // The counts are the last line that looks like counts: tests may print such lines, too.
  let pending: string | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    if (pending !== undefined) print(pending)
    pending = line
    counts = parseCounts(line)
  }
  if (pending !== undefined && counts === undefined) print(pending)
  const { code, signal } = await ended(child)
  if (counts !== undefined && (code === 0 || counts.failed > 0)) {
    if (total(counts) > 0 || code !== 0) return counts
    print(`failed: no test ran in ${files.join(' ')}`)
    return { ...NO_TESTS, failed: 1 }
  }
  const end = signal === null ? `with exit code ${code}` : `by ${signal}`
  print(`failed: a test process ended ${end} after ${files.join(' ')}`)
  return addCounts(counts ?? NO_TESTS, { ...NO_TESTS, failed: 1 })
}

function ended(child: ReturnType<typeof spawn>) {
  const { exitCode, signalCode } = child
  if (exitCode !== null || signalCode !== null)
    return Promise.resolve({ code: exitCode, signal: signalCode })
  return new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
}
