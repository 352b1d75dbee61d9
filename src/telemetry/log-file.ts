import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'

/** Times, and milliseconds between them, that a full pipe is tried at the end. */
const RETRIES = 50
const RETRY = 10

/**
 * The same file, such that a write to a full pipe or socket comes back instead of waiting: a thread
 * that waits for a reader that never reads would keep the process from ending.
 */
export function reopen(fd: number): number {
  const stats = fstatSync(fd)
  if (stats.isFIFO()) {
    try {
      // Opened anew, since the flag belongs to all who share a descriptor.
      return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch {
      // Not Linux, or the pipe belongs to another user.
    }
  }
  if (stats.isFIFO() || stats.isSocket()) keepFromWaiting(fd)
  return fd
}

const kept: Socket[] = []

/** The only way that Node has to set the flag: a socket that is never written to or closed. */
function keepFromWaiting(fd: number): void {
  kept.push(new Socket({ fd, readable: false, writable: true }).unref())
}

/** Writes all of it, unless the file takes no more; whether it did. */
export function writeNow(fd: number, bytes: Uint8Array): boolean {
  let written = 0
  let patience = RETRIES
  while (written < bytes.length) {
    try {
      written += writeSync(fd, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || patience-- === 0) return false
      Atomics.wait(SLEEP, 0, 0, RETRY)
    }
  }
  return true
}

const SLEEP = new Int32Array(new SharedArrayBuffer(4))
