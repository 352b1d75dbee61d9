import { BYTES, STRING } from '../check/types.ts'
import { afford } from '../values/fuel.ts'
import { utf8Encode } from '../values/text.ts'
import { defineLibrary, type FunctionDeclaration, fn, global } from './define.ts'
import { md5 } from './hash-md5.ts'
import { sha1 } from './hash-sha1.ts'
import { sha256 } from './hash-sha256.ts'

type Digest = (bytes: Uint8Array) => Uint8Array

/**
 * Digests of bytes, or of the UTF-8 bytes of a string: `hash.sha256` returns bytes and
 * `sha256.encode` hex. They are implemented here because the platform functions are not synchronous
 * in browsers. MD5 and SHA-1 are only for identifiers that other systems derive from them; they
 * protect nothing.
 */
export const HASH = defineLibrary('hash', [
  ...digest('sha256', sha256),
  ...digest('sha1', sha1),
  ...digest('md5', md5),
])

/** A block of 64 bytes takes about 400 ns. */
const UNITS_PER_BLOCK = 40

function digest(name: string, compute: Digest): readonly FunctionDeclaration[] {
  const metered = { metered: true } as const
  const ofBytes = (bytes: Uint8Array) => {
    return afford(UNITS_PER_BLOCK * (1 + (bytes.length >> 6))) ? compute(bytes) : undefined
  }
  const ofText = (text: string) => ofBytes(utf8Encode(text))
  const hex = (bytes: Uint8Array) => ofBytes(bytes)?.toHex()
  return [
    fn(
      `hash.${name}`,
      global([BYTES], BYTES, ofBytes, metered),
      global([STRING], BYTES, ofText, metered),
    ),
    fn(
      `${name}.encode`,
      global([BYTES], STRING, hex, metered),
      global([STRING], STRING, (text: string) => hex(utf8Encode(text)), metered),
    ),
  ]
}
