import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { DecisionRecord } from './decision-record.ts'

/**
 * A file of decisions is one JSON object a line. Each line ends with the SHA-256 of itself, and
 * begins with that of the line before it, across files and restarts. So an edit shows in the line
 * itself, even in the last one, and a line that is removed, added or moved breaks the chain. The
 * digests have no key: somebody who can write to the folder can compute them anew from some line
 * on. Against that the head is kept elsewhere.
 */
export interface Link {
  /** Of the line that comes next. */
  readonly seq: number
  /** SHA-256 of the line before, in hexadecimal, as that line has it. */
  readonly prev: string
}

export const FIRST_LINK: Link = { seq: 0, prev: '0'.repeat(64) }

/** What the `begin` of a file says. */
export const CHAIN_FORMAT = 2

/** What a line is: a decision, or a word about the file itself. */
export type Entry = 'begin' | 'decision' | 'gap' | 'resume' | 'end'

export interface ChainLine {
  readonly seq: number
  readonly prev: string
  readonly entry: Entry
  /** SHA-256 of the line up to here, closed by `}`. */
  readonly digest: string
  readonly [field: string]: unknown
}

/** A line, and the link to the one after it. */
export function chainLine(
  { seq, prev }: Link,
  entry: Entry,
  fields: object,
): { readonly line: string; readonly next: Link } {
  const text = JSON.stringify({ seq, prev, entry, ...fields })
  const digest = createHash('sha256').update(text).digest('hex')
  return {
    line: `${text.slice(0, -1)},"digest":"${digest}"}`,
    next: { seq: seq + 1, prev: digest },
  }
}

/** How every line at this place of the chain begins: what a killed process left must fit it. */
export function beginningOf({ seq, prev }: Link): string {
  return `{"seq":${seq},"prev":"${prev}","entry":"`
}

export function linkAfter({ seq, digest }: ChainLine): Link {
  return { seq: seq + 1, prev: digest }
}

const DIGEST = /^,"digest":"([0-9a-f]{64})"\}$/
const DIGEST_LENGTH = `,"digest":"${'0'.repeat(64)}"}`.length
const CLOSING = Buffer.from('}')

/** `edited`: it has the form of a line, and its digest is not its own. */
export function readChainLine(line: Buffer): ChainLine | 'edited' | 'unreadable' {
  const end = Math.max(0, line.length - DIGEST_LENGTH)
  const [, digest] = DIGEST.exec(line.toString('latin1', end)) ?? []
  const value = objectIn(line)
  if (value === undefined) return 'unreadable'
  const isLine =
    Number.isSafeInteger(value.seq) &&
    typeof value.prev === 'string' &&
    typeof value.entry === 'string'
  if (!isLine) return 'unreadable'
  const own = createHash('sha256').update(line.subarray(0, end)).update(CLOSING).digest('hex')
  return digest === own ? value : 'edited'
}

function objectIn(line: Buffer): ChainLine | undefined {
  try {
    const value = JSON.parse(line.toString()) as ChainLine
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Longest line that is written; files are read in no longer pieces. */
export const LONGEST_LINE = 1 << 20

/** The records of one id in these files: lines whose own digest fits, whatever the chain is. */
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
      if (typeof line === 'string' || line.entry !== 'decision' || line['id'] !== id) continue
      const { seq: _, prev: __, entry: ___, digest: ____, ...record } = line
      found.push(record as unknown as DecisionRecord)
    }
  }
  return found
}

export interface Line {
  readonly bytes: Buffer
  /** It ended with a line break. */
  readonly isWhole: boolean
}

export async function* linesOf(file: string): AsyncGenerator<Line> {
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
