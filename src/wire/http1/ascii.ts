export const NUL = 0x00
export const TAB = 0x09
export const LF = 0x0a
export const CR = 0x0d
export const SPACE = 0x20
export const QUOTE = 0x22
export const HASH = 0x23
export const PERCENT = 0x25
export const ASTERISK = 0x2a
export const DASH = 0x2d
export const DOT = 0x2e
export const SLASH = 0x2f
export const ZERO = 0x30
export const COLON = 0x3a
export const SEMICOLON = 0x3b
export const EQUALS = 0x3d
export const QUESTION = 0x3f
export const BACKSLASH = 0x5c
export const UNDERSCORE = 0x5f
export const DEL = 0x7f

/** Turns an upper-case letter into a lower-case one; digits and dashes stay the same. */
export const LOWER = 0x20

const DIGITS = '0123456789'
const UPPER_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const LOWER_LETTERS = UPPER_LETTERS.toLowerCase()

/** 1 for each `tchar` of RFC 9110 §5.6.2, the characters of field names and methods. */
export const IS_TOKEN: Uint8Array = classOf(
  `!#$%&'*+-.^_\`|~${DIGITS}${UPPER_LETTERS}${LOWER_LETTERS}`,
)

/** 1 for each character of a method: no lower-case letters, see ./request-line.ts. */
export const IS_METHOD: Uint8Array = classOf(`!#$%&'*+-.^_\`|~${DIGITS}${UPPER_LETTERS}`)

/** 1 for each byte of a request target, slightly laxer than RFC 3986: visible, and no `#`. */
export const IS_TARGET: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > SPACE && byte < DEL && byte !== HASH ? 1 : 0,
)

/** The same without the question mark. */
export const IS_PATH: Uint8Array = IS_TARGET.map((member, byte) => (byte === QUESTION ? 0 : member))

/** 1 for each byte of a field value (RFC 9110 §5.5): visible, beyond ASCII, space, tab. */
export const IS_TEXT: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === TAB || (byte >= SPACE && byte !== DEL) ? 1 : 0,
)

/** Maps upper-case letters to lower-case ones, and other bytes to themselves. */
export const FOLD: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  UPPER_LETTERS.includes(String.fromCharCode(byte)) ? byte | LOWER : byte,
)

/** 1 for each byte that should never be percent-encoded (RFC 3986 §2.3). */
export const IS_UNRESERVED: Uint8Array = classOf(`-._~${DIGITS}${UPPER_LETTERS}${LOWER_LETTERS}`)

/** The value of each hexadecimal digit; 16 for other bytes. */
export const HEX_VALUE: Uint8Array = new Uint8Array(256).fill(16)
for (let digit = 0; digit < 16; digit++) {
  HEX_VALUE[digit.toString(16).charCodeAt(0)] = digit
  HEX_VALUE[digit.toString(16).toUpperCase().charCodeAt(0)] = digit
}

function classOf(members: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const member of members) table[member.charCodeAt(0)] = 1
  return table
}
