import { writeRandomHex } from './random.ts'
import type { RequestId } from './request-id.ts'

const HYPHEN = 0x2d
const VERSION = 0x37
/** The digit that holds the variant's two bits, `10`, and two random ones. */
const VARIANTS = Buffer.from('89ab')

const id = Buffer.alloc(36, HYPHEN)
let idTime = Number.NaN

/**
 * A UUID of version 7 (RFC 9562): 48 bits of time and 74 random ones. Sorted by time, so that the
 * records of a request are close to each other, in a database and in a rotated file alike; an ID
 * reveals nothing about another except its creation time.
 */
export function createRequestId(milliseconds = Date.now()): RequestId {
  if (milliseconds !== idTime) writeTime(milliseconds)
  writeRandomHex(id, 14, 2)
  id[14] = VERSION
  writeRandomHex(id, 19, 2)
  id[19] = VARIANTS[digitValue(id[19] as number) & 3] as number
  writeRandomHex(id, 24, 6)
  return id.toString('latin1') as RequestId
}

/** The value of a hexadecimal digit in lower case. */
function digitValue(digit: number): number {
  return digit <= 0x39 ? digit - 0x30 : digit - 0x61 + 10
}

function writeTime(milliseconds: number): void {
  const digits = Math.floor(milliseconds).toString(16).padStart(12, '0')
  id.write(digits.slice(0, 8), 0, 'latin1')
  id.write(digits.slice(8), 9, 'latin1')
  idTime = milliseconds
}
