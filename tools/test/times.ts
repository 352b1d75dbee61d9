import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Milliseconds by test file, kept from run to run. */
export type Times = Readonly<Record<string, number>>

const PATH = '.cache/test-times.json'
/** Milliseconds for a byte of a file that has never run: the average of the unit tier. */
const PER_BYTE = 0.06

export function readTimes(path = PATH): Times {
  if (!existsSync(path)) return {}
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {} // cut off while it was written
  }
}

export function keepTimes(times: Times, path = PATH): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify({ ...readTimes(path), ...times }, undefined, 1)}\n`)
}

export function expectedTime(file: string, times: Times): number {
  return times[file] ?? statSync(file).size * PER_BYTE
}
