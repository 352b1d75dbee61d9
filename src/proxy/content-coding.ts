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

/** RFC 9110 §15.5.16: a 415 response lists the codings that are accepted. */
const ACCEPTED = new HeaderEdit([], [['accept-encoding', 'gzip, deflate, br, zstd']])
const UNKNOWN = { ...reply(415, 'bad-request', '', ACCEPTED), detail: 'unknown-coding' }
const BAD = { ...reply(400, 'bad-request'), detail: 'bad-coding' }
const TOO_LARGE = { ...reply(413, 'too-large'), detail: 'buffer' }

/** Whether a message has a content coding other than identity. */
export function isCoded(contentEncoding: string | undefined): contentEncoding is string {
  return contentEncoding !== undefined && !/^(?:identity)?$/i.test(contentEncoding.trim())
}

/**
 * Decodes a body for rules, up to `max` bytes. If it cannot be decoded, it is rejected if
 * `mustDecode` is set: otherwise clients could choose a coding that hides from a rule what the
 * backend will find. Only one coding is removed, not several.
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

/** The decoded body; undefined if it cannot be decoded. */
export async function contentOf(
  bytes: Uint8Array,
  contentEncoding: string,
  max: number,
): Promise<Uint8Array | undefined> {
  const decompress = CODINGS.get(contentEncoding.trim().toLowerCase())
  const content = decompress && (await decoded(decompress, bytes, max))
  return content instanceof Uint8Array ? content : undefined
}

/** Runs on another thread. */
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
