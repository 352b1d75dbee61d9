import { createHash } from 'node:crypto'
import {
  beginningOf,
  CHAIN_FORMAT,
  type ChainLine,
  FIRST_LINK,
  type Link,
  linesOf,
  linkAfter,
  readChainLine,
} from './decision-chain.ts'

export interface ChainFault {
  readonly file: string
  /** Starts at 1; 0 refers to the whole file. */
  readonly line: number
  readonly kind: 'edited' | 'missing' | 'order' | 'unreadable' | 'truncated' | 'head'
  readonly message: string
}

/**
 * `whole`: every line fits, and the last one closes the log. `open`: every line fits, but the log
 * was not closed, so lines may be missing at its end. `broken`: something does not fit.
 */
export type ChainState = 'whole' | 'open' | 'broken'

export interface ChainReport {
  readonly state: ChainState
  readonly faults: readonly ChainFault[]
  readonly notes: readonly string[]
  /** Lines that fit the chain. */
  readonly lines: number
  readonly decisions: number
  /** Records that were dropped, according to the records themselves. */
  readonly dropped: number
  readonly head: string | undefined
  /** The last line that fits if the log is open: file and line. */
  readonly intactUpTo: string | undefined
}

/** Checks files of one chain, given in any order. */
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
  for await (const { bytes } of linesOf(file)) {
    const line = readChainLine(bytes)
    return typeof line === 'string' ? 0 : line.seq
  }
  return Number.POSITIVE_INFINITY
}

/** The last line of a chain, to be stored where it cannot be changed: `41:5e88…`. */
function renderHead({ seq, prev }: Link): string {
  return `${seq - 1}:${prev}`
}

/** Unreadable content and its first line; a later `resume` may report it as a leftover. */
interface Torn {
  readonly line: number
  readonly pieces: Buffer[]
}

class ChainCheck {
  readonly #wanted: string | undefined
  readonly #faults: ChainFault[] = []
  readonly #notes: string[] = []
  #isHeadSeen = false
  #isClosed = false
  /** The expected next line; undefined before the first. */
  #next: Link | undefined
  #last = ''
  #lines = 0
  #decisions = 0
  #dropped = 0

  constructor(wanted: string | undefined) {
    this.#wanted = wanted
  }

  async file(file: string, isLast: boolean): Promise<void> {
    let before: ChainLine | undefined
    let torn: Torn | undefined
    let number = 0
    let isEnded = false
    for await (const { bytes, isWhole } of linesOf(file)) {
      number++
      isEnded = isWhole
      const line = isWhole ? readChainLine(bytes) : 'unreadable'
      if (line === 'edited') {
        this.#fault(file, number, 'edited', 'this line was changed: its digest does not match')
        if (torn !== undefined) this.#unreadable(file, torn.line)
        torn = undefined
        // The sequence continues after it, but the digest that the next line must contain is
        // unknown.
        if (this.#next !== undefined) this.#next = { seq: this.#next.seq + 1, prev: UNKNOWN }
        continue
      }
      if (line === 'unreadable') {
        torn ??= { line: number, pieces: [] }
        torn.pieces.push(bytes)
        continue
      }
      if (torn !== undefined) this.#tornBefore(file, torn, line)
      torn = undefined
      this.#place(file, number, line, before)
      this.#line(file, number, line)
      before = line
    }
    if (number === 0)
      this.#fault(file, 0, 'truncated', 'the file is empty: the beginning is missing')
    else if (torn !== undefined && isEnded) this.#unreadable(file, torn.line)
    else if (torn !== undefined) this.#unfinished(file, torn, isLast)
    else this.#ended(file, number, before, isLast)
  }

  report(): ChainReport {
    if (this.#wanted !== undefined && !this.#isHeadSeen) {
      const message = `line ${this.#wanted} is missing: lines at the end were removed or rewritten`
      this.#faults.push({ file: '', line: 0, kind: 'head', message })
    }
    // Files without any lines must not pass as correct.
    if (this.#lines === 0 && this.#faults.length === 0) {
      this.#fault('', 0, 'truncated', 'the files contain no chain')
    }
    const state = this.#faults.length > 0 ? 'broken' : this.#isClosed ? 'whole' : 'open'
    return {
      state,
      faults: this.#faults,
      notes: this.#notes,
      lines: this.#lines,
      decisions: this.#decisions,
      dropped: this.#dropped,
      head: this.#next && renderHead(this.#next),
      intactUpTo: state === 'open' ? this.#last : undefined,
    }
  }

  /** Checks which lines can follow each other in one file. */
  #place(file: string, number: number, line: ChainLine, before: ChainLine | undefined): void {
    if (before === undefined && number === 1) {
      if (line.entry !== 'begin') {
        this.#fault(file, number, 'missing', 'lines before this one are missing')
      } else if (line['format'] !== CHAIN_FORMAT) {
        const message = `unknown decision file format ${String(line['format'])}`
        this.#fault(file, number, 'unreadable', message)
      }
    } else if (line.entry === 'begin') {
      this.#fault(file, number, 'order', 'this is the beginning of another file')
    } else if (before?.entry === 'end' && line.entry !== 'resume') {
      this.#fault(file, number, 'order', 'the log was closed before this line')
    }
  }

  #line(file: string, number: number, line: ChainLine): void {
    this.#lines++
    if (line.entry === 'decision') this.#decisions++
    if (line.entry === 'gap' && typeof line['dropped'] === 'number')
      this.#dropped += line['dropped']
    const expected = this.#next
    if (expected === undefined) this.#first(line)
    else if (line.seq > expected.seq) {
      const range =
        expected.seq === line.seq - 1
          ? `line ${expected.seq}`
          : `lines ${expected.seq} to ${line.seq - 1}`
      this.#fault(file, number, 'missing', `${range} of the chain must come before this one`)
    } else if (line.seq < expected.seq) {
      const message = `line ${line.seq} of the chain follows line ${expected.seq - 1}`
      this.#fault(file, number, 'order', message)
    } else if (expected.prev !== UNKNOWN && line.prev !== expected.prev) {
      const message = `line ${line.seq - 1} of the chain, before this one, was changed`
      this.#fault(file, number, 'edited', message)
    }
    this.#next = linkAfter(line)
    this.#last = `${file}:${number}`
    this.#isClosed = line.entry === 'end'
    if (renderHead(this.#next) === this.#wanted) this.#isHeadSeen = true
  }

  #first({ seq, prev }: ChainLine): void {
    if (this.#lines > 1) return
    if (seq > 0) this.#notes.push(`begins with line ${seq}: earlier lines are not in these files`)
    else if (prev !== FIRST_LINK.prev)
      this.#fault('', 0, 'missing', 'line 0 of the chain has a line before it')
  }

  /** A killed process left part of a line; the next process reports what it found. */
  #tornBefore(file: string, torn: Torn, line: ChainLine): void {
    const bytes = Buffer.concat(
      torn.pieces.flatMap((piece, i) => (i === 0 ? [piece] : [BREAK, piece])),
    )
    const isReported =
      line.entry === 'resume' &&
      line['torn'] === bytes.length &&
      line['tornDigest'] === createHash('sha256').update(bytes).digest('hex')
    if (isReported && this.#isLeft(torn)) {
      this.#notes.push(`${file}:${torn.line}: a partial line, left by a process that was killed`)
    } else this.#unreadable(file, torn.line)
  }

  #unreadable(file: string, line: number): void {
    this.#fault(file, line, 'unreadable', 'not a line of a chain')
  }

  /** Whether all of it is the beginning of the line that was expected here. */
  #isLeft({ pieces }: Torn): boolean {
    const next = this.#next
    if (next === undefined) return false
    const beginning = Buffer.from(beginningOf(next))
    // A process killed while it repaired a leftover leaves two parts, separated by a line break.
    return pieces.every((piece) => {
      const length = Math.min(piece.length, beginning.length)
      return length > 0 && piece.subarray(0, length).equals(beginning.subarray(0, length))
    })
  }

  /** The file ends with an incomplete line, without a line break. */
  #unfinished(file: string, torn: Torn, isLast: boolean): void {
    this.#isClosed = false
    if (this.#isLeft(torn)) this.#cut(file, torn.line, isLast)
    else this.#unreadable(file, torn.line)
  }

  /** A file that is followed by another has its own `end`. */
  #ended(file: string, number: number, last: ChainLine | undefined, isLast: boolean): void {
    if (last?.entry !== 'end') this.#cut(file, number, isLast)
  }

  #cut(file: string, line: number, isLast: boolean): void {
    if (isLast) {
      this.#notes.push(
        `${file} was not closed: it is being written, its gateway was killed, or lines were removed (compare the head)`,
      )
    } else {
      this.#fault(file, line, 'truncated', 'the file is truncated, but another file follows')
    }
  }

  #fault(file: string, line: number, kind: ChainFault['kind'], message: string): void {
    this.#faults.push({ file, line, kind, message })
  }
}

const BREAK = Buffer.from('\n')
/** Replaces a digest: the previous line was edited. */
const UNKNOWN = ''
