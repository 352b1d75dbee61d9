import { BODY_LIMITS } from '../http1/chunked.ts'
import { HIDDEN, isForbiddenTrailer } from '../http1/field-names.ts'
import { beginFields, Fields, fieldName, readFields } from '../http1/fields.ts'
import { reject } from '../http1/rejections.ts'
import { type FieldBlock, makeRoom, nameStart } from './field-block.ts'

const COLON = 0x3a
/** Capacity for trailers as gRPC sends them. */
const FEW = 4

/** Reads a trailer section like HTTP/1.1, with forbidden fields hidden; or returns a rejection. */
export function readHttp2Trailers(block: FieldBlock): Fields | number {
  if (block.verdict < 0) return block.verdict
  if (block.isTooLarge || block.length + 2 > BODY_LIMITS.trailers)
    return reject('trailers-too-large')
  // RFC 9113 §8.1: no pseudo-headers in trailers.
  for (let i = 0; i < block.count; i++)
    if (block.bytes[nameStart(block, i)] === COLON) return reject('bad-header-name')
  makeRoom(block, 2)
  block.bytes.write('\r\n', block.length, 'latin1')
  return trailersIn(block.bytes, block.length + 2)
}

/** Reads HTTP/1.1 lines and the empty line after them. */
function trailersIn(bytes: Buffer, end: number): Fields | number {
  const trailers = new Fields(FEW)
  beginFields(trailers, 0)
  const at = readFields(trailers, bytes, 0, end, BODY_LIMITS.trailerFields)
  if (at < 0) return at
  if (at !== end) return reject('bad-header-value')
  trailers.text = bytes.toString('latin1', 0, end)
  for (let i = 0; i < trailers.count; i++)
    if (isForbiddenTrailer(fieldName(trailers, i).toLowerCase())) trailers.kinds[i] = HIDDEN
  return trailers
}
