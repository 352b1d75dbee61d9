import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { DecisionRecord } from './decision-record.ts'

/**
 * A decision file contains one JSON object per line. Each line ends with its own SHA-256 and begins
 * with that of the previous line, across files and restarts. An edit is therefore visible in the
 * line itself, even in the last one, and removing, adding or moving a line breaks the chain. The
 * digests have no key: anyone who can write to the folder can recompute them from some line on. To
 * detect that, the head is stored elsewhere.
 */
export interface Link {
  /** Sequence number of the next line. */
  readonly seq: number
  /** SHA-256 of the previous line, in hexadecimal, as stored in that line. */
  readonly prev: string
}

export const FIRST_LINK: Link = { seq: 0, prev: '0'.repeat(64) }

/** The format in the `begin` line of a file. */
export const CHAIN_FORMAT = 2

/** The type of a line: a decision, or an event of the file itself. */
export type Entry = 'begin' | 'decision' | 'gap' | 'resume' | 'end'

export interface ChainLine {
  readonly seq: number
  readonly prev: string
  readonly entry: Entry
  /** SHA-256 of the line up to here, closed by `}`. */
  readonly digest: string
  readonly [field: string]: unknown
}

/** A line, and the link for the next one. */
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

/**
 * The beginning of every line at this place of the chain: leftovers of a killed process match it.
 */
export function beginningOf({ seq, prev }: Link): string {
  return `{"seq":${seq},"prev":"${prev}","entry":"`
}

export function linkAfter({ seq, digest }: ChainLine): Link {
  return { seq: seq + 1, prev: digest }
}

const DIGEST = /^,"digest":"([0-9a-f]{64})"\}$/
const DIGEST_LENGTH = `,"digest":"${'0'.repeat(64)}"}`.length
const CLOSING = Buffer.from('}')

/** `edited`: it has the form of a line, but its digest does not match. */
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

/** Max length of a line that is written; files are read in pieces of at most this length. */
export const MAX_LINE = 1 << 20

/**
 * The records with this ID in the files: lines whose own digest matches, regardless of the chain.
 */
export async function findInFiles(
  files: readonly string[],
  id: string,
): Promise<readonly DecisionRecord[]> {
  const found: DecisionRecord[] = []
  for (const file of files) {
    for await (const { bytes } of linesOf(file)) {
      // Most lines belong to other IDs, and need not be parsed as JSON.
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
  /** The line ended with a line break. */
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
    // The gateway never writes a line this long: it is split rather than buffered.
    if (bytes.length > MAX_LINE) {
      yield { bytes, isWhole: false }
      bytes = Buffer.alloc(0)
    }
    rest = bytes
  }
  if (rest.length > 0) yield { bytes: rest, isWhole: false }
}
