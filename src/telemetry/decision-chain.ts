import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { DecisionRecord } from './decision-record.ts'

/**
 * A file of decisions is one JSON object a line, and each line carries the SHA-256 of the line
 * before it, across files and restarts. Whoever changes, removes or moves a line breaks the chain
 * there, unless he writes all that follows anew: against that the head is noted elsewhere.
 */
export interface Link {
  /** Of the line that comes next. */
  readonly seq: number
  /** SHA-256 of the line before, in hexadecimal. */
  readonly prev: string
}

export const FIRST_LINK: Link = { seq: 0, prev: '0'.repeat(64) }

/** What a line is: a decision, or a word about the file itself. */
export type Entry = 'begin' | 'decision' | 'gap' | 'resume' | 'end'

export interface ChainLine {
  readonly seq: number
  readonly prev: string
  readonly entry: Entry
  readonly [field: string]: unknown
}

export function chainLine({ seq, prev }: Link, entry: Entry, fields: object): string {
  return JSON.stringify({ seq, prev, entry, ...fields })
}

export function linkAfter({ seq }: Link, line: string | Buffer): Link {
  return { seq: seq + 1, prev: createHash('sha256').update(line).digest('hex') }
}

/** undefined where the line is none of ours. */
export function readChainLine(line: Buffer): ChainLine | undefined {
  try {
    const value = JSON.parse(line.toString()) as ChainLine
    const isOurs =
      typeof value === 'object' &&
      value !== null &&
      Number.isSafeInteger(value.seq) &&
      typeof value.prev === 'string' &&
      typeof value.entry === 'string'
    return isOurs ? value : undefined
  } catch {
    return undefined
  }
}

/** The last line of a chain, to be noted where nobody can change it: `41:5e88…`. */
function renderHead({ seq, prev }: Link): string {
  return `${seq - 1}:${prev}`
}

export interface ChainFault {
  readonly file: string
  /** From 1; 0 where it is about the whole file. */
  readonly line: number
  readonly kind: 'edited' | 'missing' | 'order' | 'unreadable' | 'truncated' | 'head'
  readonly message: string
}

export interface ChainReport {
  readonly faults: readonly ChainFault[]
  readonly notes: readonly string[]
  readonly lines: number
  readonly decisions: number
  /** What the records themselves say was left out. */
  readonly dropped: number
  readonly head: string | undefined
}

const LONGEST_LINE = 1 << 20

/** Checks files of one chain, in whatever order they are named. */
export async function verifyChain(files: readonly string[], head?: string): Promise<ChainReport> {
  const placed = await Promise.all(
    files.map(async (file) => ({ file, first: await firstSeq(file) })),
  )
  const check = new ChainCheck(head)
  const ordered = placed.sort((a, b) => a.first - b.first)
  for (const [index, { file }] of ordered.entries()) {
    await check.file(file, index === ordered.length - 1)
  }
  return check.report()
}

async function firstSeq(file: string): Promise<number> {
  for await (const { bytes } of linesOf(file)) return readChainLine(bytes)?.seq ?? 0
  return Number.POSITIVE_INFINITY
}

/** The records of one id in these files; whether their chain is whole is not looked at. */
export async function findInFiles(
  files: readonly string[],
  id: string,
): Promise<readonly DecisionRecord[]> {
  const found: DecisionRecord[] = []
  for (const file of files) {
    for await (const { bytes } of linesOf(file)) {
      // Most lines are of others, and need not be read as JSON to see it.
      if (!bytes.includes(id)) continue
      const line = readChainLine(bytes)
      if (line?.entry !== 'decision' || line['id'] !== id) continue
      const { seq: _, prev: __, entry: ___, ...record } = line
      found.push(record as unknown as DecisionRecord)
    }
  }
  return found
}

class ChainCheck {
  readonly #wanted: string | undefined
  readonly #faults: ChainFault[] = []
  readonly #notes: string[] = []
  #isHeadSeen = false
  /** What the next line must be; undefined before the first. */
  #next: Link | undefined
  #lines = 0
  #decisions = 0
  #dropped = 0

  constructor(wanted: string | undefined) {
    this.#wanted = wanted
  }

  async file(file: string, isLast: boolean): Promise<void> {
    let last: ChainLine | undefined
    let torn: { readonly line: number; readonly bytes: number } | undefined
    let number = 0
    for await (const { bytes, isWhole } of linesOf(file)) {
      number++
      const line = isWhole ? readChainLine(bytes) : undefined
      if (line === undefined) {
        // Whoever was killed while it made up for another leaves two parts, with a break between.
        torn = {
          line: torn?.line ?? number,
          bytes: torn === undefined ? bytes.length : torn.bytes + 1 + bytes.length,
        }
        continue
      }
      // A process that was killed left part of a line; the next one says how much it found.
      if (torn !== undefined) {
        if (line.entry === 'resume' && line['torn'] === torn.bytes) {
          this.#notes.push(`${file}:${torn.line}: part of a line, left when a process was killed`)
        } else this.#unreadable(file, torn.line)
        torn = undefined
      }
      if (last === undefined && line.entry !== 'begin') {
        this.#fault(file, number, 'missing', 'lines are gone before this one: no file begins so')
      }
      this.#line(file, number, line, bytes)
      last = line
    }
    if (number === 0) this.#fault(file, 0, 'truncated', 'the file is empty, and none begins so')
    else if (torn !== undefined) this.#ended(file, torn.line, isLast)
    else if (last?.entry !== 'end') this.#ended(file, number, isLast)
  }

  report(): ChainReport {
    const head = this.#next && renderHead(this.#next)
    if (this.#wanted !== undefined && !this.#isHeadSeen) {
      const message = `the line ${this.#wanted} is not there: lines were removed at the end, or written anew`
      this.#faults.push({ file: '', line: 0, kind: 'head', message })
    }
    return {
      faults: this.#faults,
      notes: this.#notes,
      lines: this.#lines,
      decisions: this.#decisions,
      dropped: this.#dropped,
      head,
    }
  }

  #line(file: string, number: number, line: ChainLine, bytes: Buffer): void {
    this.#lines++
    if (line.entry === 'decision') this.#decisions++
    if (line.entry === 'gap' && typeof line['dropped'] === 'number')
      this.#dropped += line['dropped']
    const expected = this.#next
    if (expected === undefined) {
      if (line.seq > 0)
        this.#notes.push(`begins with line ${line.seq}: what came before is not here`)
    } else if (line.seq > expected.seq) {
      const range =
        expected.seq === line.seq - 1
          ? `line ${expected.seq}`
          : `lines ${expected.seq} to ${line.seq - 1}`
      this.#fault(file, number, 'missing', `${range} of the chain should come before this one`)
    } else if (line.seq < expected.seq) {
      this.#fault(
        file,
        number,
        'order',
        `line ${line.seq} of the chain stands behind line ${expected.seq - 1}`,
      )
    } else if (line.prev !== expected.prev) {
      this.#fault(
        file,
        number,
        'edited',
        `line ${line.seq - 1} of the chain, before this one, is not what it was`,
      )
    }
    this.#next = linkAfter(line, bytes)
    if (renderHead(this.#next) === this.#wanted) this.#isHeadSeen = true
  }

  #unreadable(file: string, line: number): void {
    this.#fault(file, line, 'unreadable', 'this is no line of a chain')
  }

  /** A file that another follows, or that was closed, has an end of its own. */
  #ended(file: string, line: number, isLast: boolean): void {
    if (isLast) {
      this.#notes.push(
        `${file} has no end yet: it is being written, or lines were removed there (compare the head)`,
      )
    } else {
      this.#fault(file, line, 'truncated', 'the file ends before its end, though another follows')
    }
  }

  #fault(file: string, line: number, kind: ChainFault['kind'], message: string): void {
    this.#faults.push({ file, line, kind, message })
  }
}

interface Line {
  readonly bytes: Buffer
  /** It ended with a line break. */
  readonly isWhole: boolean
}

async function* linesOf(file: string): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let bytes: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10)) {
      yield { bytes: bytes.subarray(0, end), isWhole: true }
      bytes = bytes.subarray(end + 1)
    }
    // No line of ours is so long: it is cut up rather than kept.
    if (bytes.length > LONGEST_LINE) {
      yield { bytes, isWhole: false }
      bytes = Buffer.alloc(0)
    }
    rest = bytes
  }
  if (rest.length > 0) yield { bytes: rest, isWhole: false }
}
