import { readFileSync } from 'node:fs'

/**
 * The workers of a gateway by their process ids. It has another child for some time: lint, which
 * waits until nobody else wants to run.
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
    // It is over.
    return false
  }
}
