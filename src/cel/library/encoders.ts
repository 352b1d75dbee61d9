import { BYTES, STRING } from '../check/types.ts'
import { fail } from '../values/failure.ts'
import { afford, MAX_STRING, overBound } from '../values/fuel.ts'
import { utf8Encode } from '../values/text.ts'
import { defineLibrary, type FunctionDeclaration, fn, global } from './define.ts'

const METERED = { metered: true } as const

/** Bytes as text. Encoders also accept strings, whose UTF-8 bytes they encode. */
export const ENCODERS = defineLibrary('encoders', [
  encoder('base64.encode', toBase64),
  encoder('base64Encode', toBase64),
  fn('base64.decode', global([STRING], BYTES, fromBase64, METERED)),
  fn('base64Decode', global([STRING], BYTES, fromBase64, METERED)),
  encoder('hex.encode', toHex),
  fn('hex.decode', global([STRING], BYTES, fromHex, METERED)),
])

function encoder(
  name: string,
  encode: (bytes: Uint8Array) => string | undefined,
): FunctionDeclaration {
  return fn(
    name,
    global([BYTES], STRING, encode, METERED),
    global([STRING], STRING, (text: string) => encode(utf8Encode(text)), METERED),
  )
}

/** Units for this many bytes or characters: neither conversion is as fast as copying. */
const unitsOf = ({ length }: { readonly length: number }) => length >> 2

function toBase64(bytes: Uint8Array): string | undefined {
  if (!afford(unitsOf(bytes))) return undefined
  return bytes.length * 4 > MAX_STRING * 3 ? overBound('string too long') : bytes.toBase64()
}

/** With or without padding. Line breaks are skipped, as in Go; other white space is an error. */
function fromBase64(text: string): Uint8Array | undefined {
  if (!afford(unitsOf(text))) return undefined
  if (/[ \t\f]/.test(text)) return fail('invalid base64')
  try {
    return Uint8Array.fromBase64(text)
  } catch {
    return fail('invalid base64')
  }
}

function toHex(bytes: Uint8Array): string | undefined {
  if (!afford(unitsOf(bytes))) return undefined
  return bytes.length * 2 > MAX_STRING ? overBound('string too long') : bytes.toHex()
}

function fromHex(text: string): Uint8Array | undefined {
  if (!afford(unitsOf(text))) return undefined
  try {
    return Uint8Array.fromHex(text)
  } catch {
    return fail('invalid hex')
  }
}
