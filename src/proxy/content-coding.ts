import { brotliDecompress, gunzip, type InputType, inflate, zstdDecompress } from 'node:zlib'
import type { Exchange } from '../exchange/exchange.ts'
import { HeaderEdit } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'

interface Limit {
  readonly maxOutputLength: number
}

type Decompress = (
  bytes: InputType,
  options: Limit,
  done: (error: Error | null, decoded: Buffer) => void,
) => void

/** RFC 9110 §8.4.1, RFC 8878. */
const CODINGS: ReadonlyMap<string, Decompress> = new Map<string, Decompress>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflate],
  ['br', brotliDecompress],
  ['zstd', zstdDecompress],
])

/** RFC 9110 §15.5.16: with 415 comes what would be read. */
const ACCEPTED = new HeaderEdit([], [['accept-encoding', 'gzip, deflate, br, zstd']])
const UNKNOWN = { ...reply(415, 'bad-request', '', ACCEPTED), detail: 'unknown-coding' }
const BAD = { ...reply(400, 'bad-request'), detail: 'bad-coding' }
const TOO_LARGE = { ...reply(413, 'too-large'), detail: 'buffer' }

/** Is the content of a message other than what it stands for? */
export function isCoded(contentEncoding: string | undefined): contentEncoding is string {
  return contentEncoding !== undefined && !/^(?:identity)?$/i.test(contentEncoding.trim())
}

/**
 * Rules read what a body stands for, beyond its Content-Encoding, up to `max` bytes. What cannot
 * be decoded is rejected where it `mustDecode`: whoever may choose the coding could otherwise choose
 * one that hides from a rule what the backend will find. One coding is taken off, not several.
 */
export async function decodeBody(
  exchange: Exchange,
  bytes: Uint8Array,
  contentEncoding: string,
  max: number,
  mustDecode: boolean,
): Promise<Reply | undefined> {
  exchange.codedBody = bytes
  const decompress = CODINGS.get(contentEncoding.trim().toLowerCase())
  const content = decompress === undefined ? UNKNOWN : await decoded(decompress, bytes, max)
  if (!(content instanceof Uint8Array)) return mustDecode ? content : undefined
  exchange.request.body = content
  return undefined
}

/** What a body stands for; undefined: that cannot be said. */
export async function contentOf(
  bytes: Uint8Array,
  contentEncoding: string,
  max: number,
): Promise<Uint8Array | undefined> {
  const decompress = CODINGS.get(contentEncoding.trim().toLowerCase())
  const content = decompress && (await decoded(decompress, bytes, max))
  return content instanceof Uint8Array ? content : undefined
}

/** Not on this thread. */
function decoded(decompress: Decompress, bytes: Uint8Array, max: number): Promise<Buffer | Reply> {
  return new Promise((resolve) => {
    decompress(bytes, { maxOutputLength: max }, (error, content) => {
      if (error === null) resolve(content)
      else resolve(isTooLarge(error) ? TOO_LARGE : BAD)
    })
  })
}

function isTooLarge(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
}
