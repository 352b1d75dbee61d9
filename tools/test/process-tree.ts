import { readdirSync, readFileSync } from 'node:fs'

/** What Linux counts as a hundredth of a second, everywhere where Node runs. */
const TICK = 10

/** Milliseconds of CPU of the children of this process, ended and running; 0 outside of Linux. */
export function childrenCpu(): number {
  if (process.platform !== 'linux') return 0
  return (ticks('self', ENDED) + sum(childrenOf(process.pid), runningTicks)) * TICK
}

const ENDED = [13, 14]
const OWN = [11, 12]

function runningTicks(pid: number): number {
  return ticks(String(pid), [...OWN, ...ENDED]) + sum(childrenOf(pid), runningTicks)
}

/** Sums fields of /proc/PID/stat, counted from the state, which follows the name in parentheses. */
function ticks(process: string, fields: readonly number[]): number {
  try {
    const text = readFileSync(`/proc/${process}/stat`, 'latin1')
    const values = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return sum(fields, (field) => Number(values[field]))
  } catch {
    return 0 // ended meanwhile
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .flatMap((thread) =>
        readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean),
      )
      .map(Number)
  } catch {
    return []
  }
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0)
}
