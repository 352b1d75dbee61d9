/** A subject of measurement: runs `times` turns and returns their CPU time in ns. */
export interface Contender {
  readonly name: string
  readonly slice: (times: number) => number | Promise<number>
}

/** Nanoseconds per turn. Quote the p10: other load can only add time. */
export interface Figure {
  readonly p10: number
  readonly median: number
}

export interface Effort {
  /** Measured slices per contender. */
  readonly slices?: number
  /** Nanoseconds that a slice should take. */
  readonly length?: number
}

/** CPU time of this process, its compiler and collector threads included, in ns. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1000
}

/** A contender in this process; `turns` runs the given number of turns. */
export function contender(name: string, turns: (times: number) => void): Contender {
  const slice = (times: number) => {
    const before = cpuTime()
    turns(times)
    return cpuTime() - before
  }
  return { name, slice }
}

/**
 * Measures all contenders slice by slice in turn, so that other load on the machine affects them
 * equally: ratios within one call are reliable, figures of two calls are not comparable.
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

/** Finds the number of turns that fill a slice, and warms up the code. */
async function calibrate({ slice }: Contender, length: number): Promise<number> {
  let times = 1
  for (let warm = 0; warm < 6; ) {
    const spent = await slice(times)
    if (spent >= length) warm++
    else times = Math.ceil(times * Math.min(8, Math.max(1.1, length / Math.max(1, spent))))
    // A single turn longer than any slice needs no more warm-up.
    if (times === 1 && spent > 10 * length) return 1
  }
  return times
}

export function figure(samples: readonly number[]): Figure {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { p10: at(0.1), median: at(0.5) }
}

/** Keeps V8 from optimizing away the results of a loop. */
export const sink = { count: 0 }
