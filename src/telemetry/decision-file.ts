import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  CHAIN_FORMAT,
  chainLine,
  type Entry,
  FIRST_LINK,
  type Link,
  LONGEST_LINE,
  linkAfter,
  readChainLine,
} from './decision-chain.ts'
import type { DecisionRecord } from './decision-record.ts'

export interface DecisionFileOptions {
  readonly path: string
  /** Bytes after which a file is closed and another begun. */
  readonly maxSize: number
  /** Files that are kept beside the one that is written. */
  readonly maxFiles: number
  /** Records that wait to be written at most; more are left out, and the file says how many. */
  readonly capacity?: number
  /** Called, now and then, with what went wrong, and how many records are lost for good by it. */
  readonly onFailed: (message: string, lost: number) => void
  readonly onDropped?: (records: number) => void
}

const CAPACITY = 5_000
/** Milliseconds that a record waits at most, and that a file that takes none is left alone. */
const INTERVAL = 50
const RETRY = 1_000
/** Records of one write. */
const BATCH = 500
const DIGITS = 12

/** Decisions as a chain of JSON lines, in a file that begins anew when it is full. */
export class DecisionFile {
  readonly #options: DecisionFileOptions
  readonly #capacity: number
  #handle: FileHandle
  #next: Link
  /** Of the first line of this file: what it is called when it is full. */
  #first: number
  /** As we left it; another size means that somebody else writes to it. */
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

  /** Goes on with the chain that is there; throws where the file cannot be used. */
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

  /** Records that were lost on the way here. */
  dropped(records: number): void {
    this.#dropped += records
    this.#options.onDropped?.(records)
  }

  /** Writes what waits, and says that this is the end. */
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

  /** All of the lines, or none. */
  async #append(entries: readonly (readonly [Entry, object])[]): Promise<void> {
    const { path } = this.#options
    const [own, there] = await Promise.all([this.#handle.stat(), stat(path).catch(() => undefined)])
    // Somebody took the file away: the chain goes on in another, so that the lines are missed.
    if (there?.ino !== own.ino) this.#use(await openChain(path, this.#next))
    // Somebody else wrote to it: the chain goes on behind that.
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
 * A disk that is full takes part of a text, and the part is taken back: a chain goes on behind
 * whole lines. Where even that fails, it is found and told by whoever opens the file next.
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

/** The oldest first. */
async function rotatedFiles(path: string): Promise<readonly string[]> {
  const own = new RegExp(`^${RegExp.escape(basename(path))}\\.\\d{${DIGITS}}$`)
  const names = await readdir(dirname(path))
  return names
    .filter((name) => own.test(name))
    .sort()
    .map((name) => join(dirname(path), name))
}

/** `next`: what comes next in the chain, where the file is a new one and that is known. */
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

/** A new file, which goes on where the last one that is full ended. */
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

/** A file that is there already: after a restart, or after somebody else wrote to it. */
async function resume(handle: FileHandle, size: number): Promise<Opened> {
  const { next: link, torn } = await lastLink(handle, size)
  const head = Buffer.alloc(Math.min(size, LONGEST_LINE))
  await handle.read(head, 0, head.length, 0)
  const begin = readChainLine(head.subarray(0, head.indexOf(10)))
  const first = typeof begin === 'string' ? link.seq : begin.seq
  const { line, next } = chainLine(link, 'resume', { time: now(), ...leftBehind(torn) })
  // What was left behind may have a break already: that of a process which was killed here, too.
  const text = `${torn.length === 0 || torn.at(-1) === BREAK ? '' : '\n'}${line}\n`
  await addTo(handle, size, text)
  return { handle, next, first, size: size + Buffer.byteLength(text) }
}

const BREAK = 10

/** So that what was left behind cannot be exchanged for something else of the same length. */
function leftBehind(torn: Buffer): object {
  if (torn.length === 0) return {}
  const bytes = torn.at(-1) === BREAK ? torn.subarray(0, -1) : torn
  return { torn: bytes.length, tornDigest: createHash('sha256').update(bytes).digest('hex') }
}

/** What follows the last line that can be read, and the bytes of unfinished ones after it. */
async function lastLink(
  handle: FileHandle,
  size: number,
): Promise<{ readonly next: Link; readonly torn: Buffer }> {
  const tail = Buffer.alloc(Math.min(size, LONGEST_LINE))
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
