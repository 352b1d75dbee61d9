import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/** Times, and milliseconds between them, that a full pipe is tried at the end. */
const RETRIES = 50
const RETRY = 10

/**
 * The same file, such that a write to a full pipe comes back instead of waiting: a thread that
 * waits for a reader that never reads would keep the process from ending. Opened anew because the
 * flag belongs to all who share a descriptor. Where that is not allowed, the descriptor itself.
 */
export function reopen(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return fd
  }
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
