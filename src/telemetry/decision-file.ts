import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  CHAIN_FORMAT,
  chainLine,
  type Entry,
  FIRST_LINK,
  type Link,
  linkAfter,
  MAX_LINE,
  readChainLine,
} from './decision-chain.ts'
import type { DecisionRecord } from './decision-record.ts'

export interface DecisionFileOptions {
  readonly path: string
  /** Bytes after which a file is closed and a new one started. */
  readonly maxSize: number
  /** Files that are kept in addition to the current one. */
  readonly maxFiles: number
  /** Max records waiting to be written; more are dropped, and the file records how many. */
  readonly capacity?: number
  /** Called, at limited intervals, with the error and the number of records lost because of it. */
  readonly onFailed: (message: string, lost: number) => void
  readonly onDropped?: (records: number) => void
}

const CAPACITY = 5_000
/** Max milliseconds that a record waits, and milliseconds until a failed file is retried. */
const INTERVAL = 50
const RETRY = 1_000
/** Max records of one write. */
const BATCH = 500
const DIGITS = 12

/** Writes decisions as a chain of JSON lines, to a file that is rotated when it is full. */
export class DecisionFile {
  readonly #options: DecisionFileOptions
  readonly #capacity: number
  #handle: FileHandle
  #next: Link
  /** Sequence number of the first line of this file, which names the file when it is full. */
  #first: number
  /**
   * The size after the last write; a different size means that another process writes to the file.
   */
  #size: number
  #waiting: DecisionRecord[] = []
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #pumping: Promise<void> | undefined
  #isClosed = false

  private constructor(options: DecisionFileOptions, opened: Opened) {
    this.#options = options
    this.#capacity = options.capacity ?? CAPACITY
    this.#handle = opened.handle
    this.#next = opened.next
    this.#first = opened.first
    this.#size = opened.size
  }

  /** Continues an existing chain; throws if the file cannot be used. */
  static async open(options: DecisionFileOptions): Promise<DecisionFile> {
    return new DecisionFile(options, await openChain(options.path))
  }

  write(record: DecisionRecord): void {
    if (this.#isClosed || this.#waiting.length >= this.#capacity) {
      this.dropped(1)
      return
    }
    this.#waiting.push(record)
    this.#timer ??= setTimeout(() => this.#start(), INTERVAL).unref()
  }

  /** Counts records that were lost before they arrived here. */
  dropped(records: number): void {
    this.#dropped += records
    this.#options.onDropped?.(records)
  }

  /** Writes waiting records, and then the end of the log. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#pumping
    try {
      await this.#pump()
      await this.#append([['end', { time: now(), reason: 'stopped' }]])
    } catch (error) {
      const lost = this.#waiting.length
      if (lost > 0) this.#options.onDropped?.(lost)
      this.#options.onFailed((error as Error).message, lost)
    }
    await this.#handle.close()
  }

  #start(): void {
    this.#timer = undefined
    this.#pumping ??= this.#pump().then(
      () => this.#settled(INTERVAL),
      (error: Error) => {
        this.#options.onFailed(error.message, 0)
        this.#settled(RETRY)
      },
    )
  }

  #settled(pause: number): void {
    this.#pumping = undefined
    if (this.#isClosed || (this.#waiting.length === 0 && this.#dropped === 0)) return
    this.#timer ??= setTimeout(() => this.#start(), pause).unref()
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0 || this.#dropped > 0) {
      const batch = this.#waiting.slice(0, BATCH)
      const dropped = this.#dropped
      const entries = batch.map((record): [Entry, object] => ['decision', record])
      if (dropped > 0) entries.push(['gap', { time: now(), dropped }])
      await this.#append(entries)
      this.#waiting = this.#waiting.slice(batch.length)
      this.#dropped -= dropped
      if (this.#size >= this.#options.maxSize) await this.#rotate()
    }
  }

  /** Writes all lines or none. */
  async #append(entries: readonly (readonly [Entry, object])[]): Promise<void> {
    const { path } = this.#options
    const [own, there] = await Promise.all([this.#handle.stat(), stat(path).catch(() => undefined)])
    // The file was removed: the chain continues in a new one, so that missing lines are detected.
    if (there?.ino !== own.ino) this.#use(await openChain(path, this.#next))
    // Another process wrote to it: the chain continues after that.
    else if (own.size !== this.#size) this.#use(await openChain(path))
    let next = this.#next
    let text = ''
    for (const [entry, fields] of entries) {
      const made = chainLine(next, entry, fields)
      next = made.next
      text += `${made.line}\n`
    }
    await addTo(this.#handle, this.#size, text)
    this.#size += Buffer.byteLength(text)
    this.#next = next
  }

  #use(opened: Opened): void {
    void this.#handle.close().catch(() => {})
    this.#handle = opened.handle
    this.#next = opened.next
    this.#first = opened.first
    this.#size = opened.size
  }

  async #rotate(): Promise<void> {
    const { path, maxFiles } = this.#options
    await this.#append([['end', { time: now(), reason: 'rotated' }]])
    await rename(path, `${path}.${String(this.#first).padStart(DIGITS, '0')}`)
    this.#use(await openChain(path, this.#next))
    const old = await rotatedFiles(path)
    for (const file of old.slice(0, Math.max(0, old.length - maxFiles))) await rm(file)
  }
}

/**
 * A full disk may accept part of a text; that part is removed, so that the chain continues after
 * complete lines. If even that fails, the next process that opens the file detects and reports it.
 */
async function addTo(handle: FileHandle, size: number, text: string): Promise<void> {
  try {
    await handle.appendFile(text)
  } catch (error) {
    await handle.truncate(size).catch(() => {})
    throw error
  }
}

interface Opened {
  readonly handle: FileHandle
  readonly next: Link
  readonly first: number
  readonly size: number
}

/** Oldest first. */
async function rotatedFiles(path: string): Promise<readonly string[]> {
  const own = new RegExp(`^${RegExp.escape(basename(path))}\\.\\d{${DIGITS}}$`)
  const names = await readdir(dirname(path))
  return names
    .filter((name) => own.test(name))
    .sort()
    .map((name) => join(dirname(path), name))
}

/** `next`: the next link of the chain, if the file is new and the link is known. */
async function openChain(path: string, next?: Link): Promise<Opened> {
  const handle = await open(path, 'a+', 0o600)
  try {
    const { size } = await handle.stat()
    return size === 0 ? await begin(handle, path, next) : await resume(handle, size)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Starts a new file, which continues after the last full one. */
async function begin(handle: FileHandle, path: string, known?: Link): Promise<Opened> {
  const before = (await rotatedFiles(path)).at(-1)
  let link = known ?? FIRST_LINK
  if (known === undefined && before !== undefined) {
    const old = await open(before, 'r')
    try {
      link = (await lastLink(old, (await old.stat()).size)).next
    } finally {
      await old.close()
    }
  }
  const after = before === undefined ? {} : { after: basename(before) }
  const { line, next } = chainLine(link, 'begin', { time: now(), format: CHAIN_FORMAT, ...after })
  await addTo(handle, 0, `${line}\n`)
  return { handle, next, first: link.seq, size: Buffer.byteLength(line) + 1 }
}

/** Continues an existing file: after a restart, or after another process wrote to it. */
async function resume(handle: FileHandle, size: number): Promise<Opened> {
  const { next: link, torn } = await lastLink(handle, size)
  const head = Buffer.alloc(Math.min(size, MAX_LINE))
  await handle.read(head, 0, head.length, 0)
  const begin = readChainLine(head.subarray(0, head.indexOf(10)))
  const first = typeof begin === 'string' ? link.seq : begin.seq
  const { line, next } = chainLine(link, 'resume', { time: now(), ...leftBehind(torn) })
  // The leftover may already end with a line break, if a process was killed here as well.
  const text = `${torn.length === 0 || torn.at(-1) === BREAK ? '' : '\n'}${line}\n`
  await addTo(handle, size, text)
  return { handle, next, first, size: size + Buffer.byteLength(text) }
}

const BREAK = 10

/** The digest prevents replacing the leftover with other content of the same length. */
function leftBehind(torn: Buffer): object {
  if (torn.length === 0) return {}
  const bytes = torn.at(-1) === BREAK ? torn.subarray(0, -1) : torn
  return { torn: bytes.length, tornDigest: createHash('sha256').update(bytes).digest('hex') }
}

/** The link after the last readable line, and the bytes of incomplete lines after it. */
async function lastLink(
  handle: FileHandle,
  size: number,
): Promise<{ readonly next: Link; readonly torn: Buffer }> {
  const tail = Buffer.alloc(Math.min(size, MAX_LINE))
  await handle.read(tail, 0, tail.length, size - tail.length)
  for (let end = tail.lastIndexOf(10); end > 0; ) {
    const start = tail.lastIndexOf(10, end - 1) + 1
    const bytes = tail.subarray(start, end)
    const line = readChainLine(bytes)
    if (typeof line !== 'string') {
      return { next: linkAfter(line), torn: tail.subarray(end + 1) }
    }
    end = start - 1
  }
  throw new Error('its last line is not that of a decision file')
}

function now(): string {
  return new Date().toISOString()
}
