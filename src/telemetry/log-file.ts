import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'

/** Milliseconds between two attempts to write to a full pipe at process exit. */
const RETRY = 10
/** Max milliseconds at process exit while a reader reads nothing, and while it reads something. */
const MAX_SILENCE = 3_000
const MAX_END = 10_000

export interface LogFile {
  readonly fd: number
  /** Writes return at once, whatever the reader does. */
  readonly isNonblocking: boolean
}

/**
 * Reopens the file such that a write to a full pipe or socket returns instead of blocking: a
 * process that waits for a reader that never reads does not exit.
 */
export function reopen(fd: number): LogFile {
  const stats = fstatSync(fd)
  const isNonblocking = stats.isFIFO() || stats.isSocket()
  if (stats.isFIFO()) {
    try {
      // Opened again, since the flag is shared by all users of a descriptor.
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

/** The only way to set the flag in Node: a socket that is never written to or closed. */
function keepFromWaiting(fd: number): void {
  kept.push(new Socket({ fd, readable: false, writable: true }).unref())
}

/**
 * Writes as long as the reader keeps reading, but not forever; returns the number of bytes written.
 * A busy machine slows readers down, and what they have not read yet is still valuable.
 */
export function writeNow(fd: number, bytes: Uint8Array, maxSilence = MAX_SILENCE): number {
  const startedAt = performance.now()
  let takenAt = startedAt
  let written = 0
  while (written < bytes.length) {
    try {
      written += writeSync(fd, bytes, written)
      takenAt = performance.now()
    } catch (error) {
      const now = performance.now()
      const isOver = now - takenAt > maxSilence || now - startedAt > MAX_END
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || isOver) break
      Atomics.wait(SLEEP, 0, 0, RETRY)
    }
  }
  return written
}

const SLEEP = new Int32Array(new SharedArrayBuffer(4))
