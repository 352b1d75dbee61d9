/** Something that is measured: runs `times` turns and returns the CPU time of them, in ns. */
export interface Contender {
  readonly name: string
  readonly slice: (times: number) => number | Promise<number>
}

/** Nanoseconds a turn. The p10 is the figure to quote: load can only add. */
export interface Figure {
  readonly p10: number
  readonly median: number
}

export interface Effort {
  /** Measured slices of each contender. */
  readonly slices?: number
  /** Nanoseconds that a slice should take. */
  readonly length?: number
}

/** CPU time of this process, its compiler and collector threads included, in ns. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1000
}

/** A contender of this process. `turns` runs its argument's number of turns. */
export function contender(name: string, turns: (times: number) => void): Contender {
  const slice = (times: number) => {
    const before = cpuTime()
    turns(times)
    return cpuTime() - before
  }
  return { name, slice }
}

/**
 * Measures all contenders slice by slice in turn, so that whatever else the machine does meets
 * them alike: ratios of one call are to be trusted, figures of two calls are not to be compared.
 */
export async function interleave(
  contenders: readonly Contender[],
  { slices = 24, length = 2_000_000 }: Effort = {},
): Promise<Map<string, Figure>> {
  const times = new Map<Contender, number>()
  for (const each of contenders) times.set(each, await calibrate(each, length))
  const samples = new Map<Contender, number[]>(contenders.map((each) => [each, []]))
  for (let round = 0; round < slices; round++) {
    for (const each of contenders) {
      const turns = times.get(each) as number
      samples.get(each)?.push((await each.slice(turns)) / turns)
    }
  }
  return new Map(contenders.map((each) => [each.name, figure(samples.get(each) ?? [])]))
}

/** How many turns fill a slice; on the way the code gets warm. */
async function calibrate({ slice }: Contender, length: number): Promise<number> {
  let times = 1
  for (let warm = 0; warm < 6; ) {
    const spent = await slice(times)
    if (spent >= length) warm++
    else times = Math.ceil(times * Math.min(8, Math.max(1.1, length / Math.max(1, spent))))
    // One turn that is longer than any slice needs no more warming.
    if (times === 1 && spent > 10 * length) return 1
  }
  return times
}

export function figure(samples: readonly number[]): Figure {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { p10: at(0.1), median: at(0.5) }
}

/** Keeps what a loop computed from being optimised away. */
export const sink = { count: 0 }
