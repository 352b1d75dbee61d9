import { closeSync, writeSync, write as writeToFile } from 'node:fs'
import { reopen, writeNow } from './log-file.ts'

/** Collects lines and writes them in batches, without blocking on the writing thread. */
export interface LogSink {
  readonly write: (line: string) => void
  /** Lines that were dropped since the start. */
  readonly dropped: () => number
  /** Calls back when everything written so far has left the process or was dropped. */
  readonly flush: (done?: () => void) => void
  /** Writes the rest synchronously; called automatically when the process exits. */
  readonly close: () => void
}

export interface LogSinkOptions {
  /** 1 by default. */
  readonly fd?: number
  /** Max characters that wait to be written; more are dropped. */
  readonly capacity?: number
  /** Characters that are written without waiting for the timer. */
  readonly batch?: number
  /** Max milliseconds that a line waits. */
  readonly interval?: number
  /**
   * Max bytes of one write, which then ends with a complete line. If processes share a pipe, only
   * writes of up to 4096 bytes (PIPE_BUF) are guaranteed not to be interleaved.
   */
  readonly piece?: number
  /** Max milliseconds at process exit while a reader reads nothing. */
  readonly maxSilence?: number
  /** Counts dropped lines as they occur. */
  readonly drops?: { readonly inc: (lines: number) => void }
  /** Called with the number of dropped lines once the sink accepts lines again. */
  readonly onDropped?: (lines: number) => void
}

/** Milliseconds until a full pipe is retried. */
const RETRY = 10

/** Milliseconds after which a write counts as stuck, so that process exit does not wait for it. */
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
    // An expired timer must not prevent setting another: the remaining lines would wait for more.
    timer = undefined
    state = 'writing'
    writingSince = performance.now()
    const length = pieceLength(leaving, written, piece)
    // When the process exits, the result of a pipe write that a thread has begun is unknown, and it
    // may be partial: if writes return at once anyway, no thread is used.
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
    // A write in progress ends by itself, at the latest with the process: it is not repeated.
    const unsent = state === 'retrying' ? leaving.subarray(written) : EMPTY
    const rest = Buffer.concat([unsent, Buffer.from(waiting)])
    const isStuck = state === 'writing' && performance.now() - writingSince > STUCK
    const taken = isStuck ? 0 : writeNow(fd, rest, options.maxSilence)
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

/** The number of bytes for one write: up to the last line that ends within a piece. */
function pieceLength(bytes: Buffer, from: number, piece: number): number {
  const rest = bytes.length - from
  if (rest <= piece) return rest
  const end = bytes.lastIndexOf(NEWLINE, from + piece - 1)
  // A line that is longer than a piece is written alone.
  return (end < from ? bytes.indexOf(NEWLINE, from) : end) + 1 - from
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines++
  return lines
}

/** Space may be freed on a full disk; a pipe without a reader never recovers. */
function isForever({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'EBADF'
}
