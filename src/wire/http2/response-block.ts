// HOT PATH: converts an HTTP/2 response into an HTTP/1.1 head. Guarded by
// bench/proxy.ts. Liberties: the status line overwrites the pseudo-header, which is as long.

import { COLON, ZERO } from '../http1/ascii.ts'
import { kindOfName, PLAIN } from '../http1/field-names.ts'
import { areBytes } from '../http1/fields.ts'
import type { HeadLimits } from '../http1/message.ts'
import { reject } from '../http1/rejections.ts'
import { type ResponseHead, readResponseHead } from '../http1/response-head.ts'
import { isOfConnection } from './connection-fields.ts'
import {
  type FieldBlock,
  makeRoom,
  nameEnd,
  nameStart,
  valueEnd,
  valueStart,
} from './field-block.ts'

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')
const STATUS = bytesOf(':status')
const VERSION = bytesOf('HTTP/1.1 ')

/**
 * Reads a response's header block as HTTP/1.1 would. Returns 1 or a rejection. A body of unknown
 * length gets the framing `close`, so that chunks are not expected. `switching`: lines that turn
 * the 2xx of an extended CONNECT into a 101.
 */
export function readHttp2Response(
  block: FieldBlock,
  method: string,
  limits: HeadLimits,
  head: ResponseHead,
  switching = '',
): number {
  const verdict = checkBlock(block)
  if (verdict < 0) return verdict
  makeRoom(block, 2)
  const { bytes } = block
  bytes[block.length] = 0x0d
  bytes[block.length + 1] = 0x0a
  const isSwitched = switching !== '' && bytes[valueStart(block, 0)] === TWO
  if (isSwitched) return readSwitch(block, limits, head, switching)
  // `:status: 200` becomes `HTTP/1.1 200`: the digits stay in place.
  for (let i = 0; i < VERSION.length; i++) bytes[i] = VERSION[i] as number
  return readWhole(bytes, block.length + 2, method, limits, head)
}

const TWO = ZERO + 2

/** RFC 9113 §8.2 and §8.3.2 */
function checkBlock(block: FieldBlock): number {
  const { bytes, count } = block
  if (block.verdict < 0) return block.verdict
  if (count === 0 || !isStatus(block)) return reject('bad-status-line')
  for (let i = 1; i < count; i++) {
    const from = nameStart(block, i)
    if (bytes[from] === COLON) return reject('bad-header-name')
    const kind = kindOfName(bytes, from, nameEnd(block, i))
    if (kind !== PLAIN && isOfConnection(kind)) return reject('bad-connection')
  }
  return block.isTooLarge ? reject('head-too-large') : 1
}

/** Three digits; §8.6: no 101. */
function isStatus(block: FieldBlock): boolean {
  const { bytes } = block
  if (!areBytes(bytes, nameStart(block, 0), nameEnd(block, 0), STATUS)) return false
  const from = valueStart(block, 0)
  if (valueEnd(block, 0) - from !== 3) return false
  const status = digit(bytes[from]) * 100 + digit(bytes[from + 1]) * 10 + digit(bytes[from + 2])
  return status >= 100 && status !== 101
}

/** NaN for a byte that is not a digit. */
function digit(byte: number | undefined): number {
  const value = (byte ?? 0) - ZERO
  return value >= 0 && value <= 9 ? value : Number.NaN
}

function readSwitch(
  block: FieldBlock,
  limits: HeadLimits,
  head: ResponseHead,
  switching: string,
): number {
  const bytes = Buffer.concat([
    bytesOf(`HTTP/1.1 101 Switching Protocols\r\n${switching}`),
    block.bytes.subarray(valueEnd(block, 0) + 2, block.length + 2),
  ])
  return readWhole(bytes, bytes.length, 'GET', limits, head)
}

function readWhole(
  bytes: Buffer,
  end: number,
  method: string,
  limits: HeadLimits,
  head: ResponseHead,
): number {
  const at = readResponseHead(bytes, 0, end, limits, method, head)
  if (at < 0) return at
  // If parsing ended early, the block was not a single head.
  if (at !== end) return reject(at === 0 ? 'head-too-large' : 'bad-header-value')
  return 1
}
