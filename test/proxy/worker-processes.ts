import { readFileSync } from 'node:fs'

/**
 * The process IDs of the workers of a gateway. The gateway temporarily has another child: lint,
 * which runs at the lowest priority.
 */
export function workersOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(/\s+/)
    .map(Number)
    .filter(isWorker)
}

function isWorker(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('worker')
  } catch {
    // The process has exited.
    return false
  }
}
