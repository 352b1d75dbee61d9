import type { Equivalents } from './equivalents.ts'
import { type Effort, Judge, type JudgeOptions, type Verdict } from './judge.ts'
import { type Mutant, renderMutant } from './mutant.ts'
import type { Result } from './results.ts'

export interface Trials {
  /** How many processes run tests. */
  readonly jobs: number
  /** What survives one is tried with the next. */
  readonly efforts: readonly Effort[]
  readonly equivalents: Equivalents
  /** What an earlier run that was out of time has found. */
  readonly begun: ReadonlyMap<number, Verdict>
  /** Called once a result is final. */
  readonly onResult: (result: Result) => void
  readonly judge: JudgeOptions
}

interface Survivor {
  readonly mutant: Mutant
  readonly verdict: Verdict
}

export async function judgeAll(
  mutants: readonly Mutant[],
  { jobs, efforts, equivalents, begun, onResult, judge: options }: Trials,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const openEnded = new Set<number>()
  const record = (mutant: Mutant, verdict: Verdict) => {
    const isFinal = !openEnded.has(mutant.id)
    const result = { ...mutant, ...verdict, isFinal }
    results.push(result)
    onResult(result)
    showProgress(result, results.length, mutants.length)
  }
  const judges = Array.from({ length: jobs }, () => new Judge(options))
  let open: readonly Survivor[] = mutants.map((mutant) => ({
    mutant,
    verdict: begun.get(mutant.id) ?? UNJUDGED,
  }))
  for (const effort of efforts) {
    const survivors: Survivor[] = []
    const queue = open.values()
    const work = async (judge: Judge) => {
      for (const { mutant, verdict } of queue) {
        if (equivalents.has(mutant)) {
          record(mutant, { outcome: 'equivalent', ran: [] })
          continue
        }
        const next = await judge.judge(mutant, effort, verdict.ran)
        if (next.outcome === 'unjudged') openEnded.add(mutant.id)
        if (next.outcome === 'killed') record(mutant, next)
        else survivors.push({ mutant, verdict: later(verdict, next) })
      }
    }
    await Promise.all(judges.map(work))
    open = survivors
  }
  for (const judge of judges) judge.end()
  for (const { mutant, verdict } of open) record(mutant, verdict)
  return results
}

const UNJUDGED: Verdict = { outcome: 'unjudged', ran: [] }

/** A verdict that took more effort, unless there was no time for it. */
function later(verdict: Verdict, next: Verdict): Verdict {
  return next.outcome === 'unjudged' && verdict.outcome === 'survived'
    ? { ...verdict, ran: next.ran }
    : next
}

function showProgress(last: Result, done: number, count: number): void {
  const { isTTY, columns } = process.stderr
  if (!isTTY) return
  const line = `${done} of ${count}: ${last.outcome}: ${renderMutant(last)}`
  process.stderr.write(`\r\u001B[K${done === count ? '' : line.slice(0, columns - 1)}`)
}
