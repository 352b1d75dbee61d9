import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'

/** Milliseconds between two attempts at a full pipe at the end. */
const RETRY = 10
/** Milliseconds at the end in which a reader takes nothing, and in which it takes something. */
const LONGEST_SILENCE = 3_000
const LONGEST_END = 10_000

export interface LogFile {
  readonly fd: number
  /** Writes come back at once, whatever the reader does. */
  readonly isNonblocking: boolean
}

/**
 * The same file, such that a write to a full pipe or socket comes back instead of waiting: whoever
 * waits for a reader that never reads does not end.
 */
export function reopen(fd: number): LogFile {
  const stats = fstatSync(fd)
  const isNonblocking = stats.isFIFO() || stats.isSocket()
  if (stats.isFIFO()) {
    try {
      // Opened anew, since the flag belongs to all who share a descriptor.
      const own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
      return { fd: own, isNonblocking }
    } catch {
      // Not Linux, or the pipe belongs to another user.
    }
  }
  if (isNonblocking) keepFromWaiting(fd)
  return { fd, isNonblocking }
}

const kept: Socket[] = []

/** The only way that Node has to set the flag: a socket that is never written to or closed. */
function keepFromWaiting(fd: number): void {
  kept.push(new Socket({ fd, readable: false, writable: true }).unref())
}

/**
 * Writes for as long as the reader takes some of it now and then, and not for ever; how much. A
 * machine that is busy makes readers slow, and what they did not read yet is not worth less.
 */
export function writeNow(fd: number, bytes: Uint8Array): number {
  const startedAt = performance.now()
  let takenAt = startedAt
  let written = 0
  while (written < bytes.length) {
    try {
      written += writeSync(fd, bytes, written)
      takenAt = performance.now()
    } catch (error) {
      const now = performance.now()
      const isOver = now - takenAt > LONGEST_SILENCE || now - startedAt > LONGEST_END
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || isOver) break
      Atomics.wait(SLEEP, 0, 0, RETRY)
    }
  }
  return written
}

const SLEEP = new Int32Array(new SharedArrayBuffer(4))
