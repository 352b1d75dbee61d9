import { closeSync, writeSync, write as writeToFile } from 'node:fs'
import { reopen, writeNow } from './log-file.ts'

/** Where lines go: collected, and written a batch at a time by a thread that nobody waits for. */
export interface LogSink {
  readonly write: (line: string) => void
  /** Lines that were not taken, since the start. */
  readonly dropped: () => number
  /** Calls back when all that was written so far has left the process or was given up. */
  readonly flush: (done?: () => void) => void
  /** Writes what is left while the process waits: for the very end, which calls it by itself. */
  readonly close: () => void
}

export interface LogSinkOptions {
  /** 1 unless told otherwise. */
  readonly fd?: number
  /** Most characters that wait to be written; more are dropped. */
  readonly capacity?: number
  /** Characters that are written without waiting for the timer. */
  readonly batch?: number
  /** Milliseconds that a line waits at most. */
  readonly interval?: number
  /**
   * Most bytes of one write, which then ends with a line. Where processes share a pipe only writes
   * of up to 4096 (PIPE_BUF) are sure not to be mixed.
   */
  readonly piece?: number
  /** Counts lines that were not taken, as it happens. */
  readonly drops?: { readonly inc: (lines: number) => void }
  /** Called, once the sink takes lines again, with the number that it did not take. */
  readonly onDropped?: (lines: number) => void
}

/** Milliseconds until a full pipe is tried again. */
const RETRY = 10

/** Milliseconds after which a write has no reader, so that the end of the process will not wait. */
const STUCK = 1000

export function createLogSink(options: LogSinkOptions = {}): LogSink {
  const { capacity = 4 << 20, batch = 64 << 10, interval = 100 } = options
  const { fd, isNonblocking } = reopen(options.fd ?? 1)
  const piece = options.piece ?? Number.POSITIVE_INFINITY
  let state: 'idle' | 'writing' | 'retrying' | 'closed' = 'idle'
  let waiting = ''
  let leaving = EMPTY
  let written = 0
  let writingSince = 0
  let dropped = 0
  let reported = 0
  let timer: NodeJS.Timeout | undefined
  let onEmpty: (() => void)[] = []

  const write = (line: string) => {
    const size = waiting.length + leaving.length - written + line.length
    if (state === 'closed' || size > capacity) return drop(1)
    waiting += line
    schedule()
  }

  const schedule = () => {
    if (state !== 'idle') return
    if (waiting.length >= batch || onEmpty.length > 0) send()
    else if (waiting !== '') timer ??= setTimeout(send, interval).unref()
  }

  const send = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return settle()
    leaving = Buffer.from(waiting)
    written = 0
    waiting = ''
    proceed()
  }

  const proceed = () => {
    // One that has rung is no reason not to set another: what is left would wait for more.
    timer = undefined
    state = 'writing'
    writingSince = performance.now()
    const length = pieceLength(leaving, written, piece)
    // What a thread has begun to write to a pipe is not known when the process ends, and a part of
    // it may not have fitted: where a write comes back at once anyway, no thread is asked.
    if (!isNonblocking) writeToFile(fd, leaving, written, length, null, onWritten)
    else writeAtOnce(length)
  }

  const writeAtOnce = (length: number) => {
    let bytes = 0
    try {
      bytes = writeSync(fd, leaving, written, length)
    } catch (error) {
      onWritten(error as NodeJS.ErrnoException, 0)
      return
    }
    onWritten(null, bytes)
  }

  const onWritten = (error: NodeJS.ErrnoException | null, bytes: number) => {
    if (state === 'closed') return
    if (error?.code === 'EAGAIN') {
      state = 'retrying'
      timer = setTimeout(proceed, RETRY).unref()
      return
    }
    if (error === null) written += bytes
    else drop(countLines(leaving.subarray(written)))
    if (error === null && written < leaving.length) return proceed()
    state = 'idle'
    leaving = EMPTY
    written = 0
    if (error === null) report()
    else if (isForever(error)) close()
    schedule()
  }

  const drop = (lines: number) => {
    dropped += lines
    options.drops?.inc(lines)
  }

  const report = () => {
    if (dropped === reported) return
    const lines = dropped - reported
    reported = dropped
    options.onDropped?.(lines)
  }

  const settle = () => {
    const callbacks = onEmpty
    onEmpty = []
    for (const callback of callbacks) callback()
  }

  const close = () => {
    if (state === 'closed') return
    process.off('exit', close)
    clearTimeout(timer)
    // A write under way ends by itself, at the latest with the process: it is not repeated.
    const unsent = state === 'retrying' ? leaving.subarray(written) : EMPTY
    const rest = Buffer.concat([unsent, Buffer.from(waiting)])
    const isStuck = state === 'writing' && performance.now() - writingSince > STUCK
    const taken = isStuck ? 0 : writeNow(fd, rest)
    if (taken < rest.length) drop(countLines(rest.subarray(taken)))
    if (fd !== (options.fd ?? 1) && state !== 'writing') closeSync(fd)
    state = 'closed'
    waiting = ''
    leaving = EMPTY
    written = 0
    settle()
  }

  process.on('exit', close)
  return {
    write,
    dropped: () => dropped,
    flush: (done) => {
      if (done !== undefined) onEmpty.push(done)
      if (state === 'idle') send()
      else if (state === 'closed') settle()
    },
    close,
  }
}

const EMPTY = Buffer.alloc(0)
const NEWLINE = 10

/** How much of the bytes one write takes: up to the last line that ends within a piece. */
function pieceLength(bytes: Buffer, from: number, piece: number): number {
  const rest = bytes.length - from
  if (rest <= piece) return rest
  const end = bytes.lastIndexOf(NEWLINE, from + piece - 1)
  // A line that is longer than a piece goes alone.
  return (end < from ? bytes.indexOf(NEWLINE, from) : end) + 1 - from
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines++
  return lines
}

/** A full disk may be emptied; a pipe without a reader stays one. */
function isForever({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'EBADF'
}
