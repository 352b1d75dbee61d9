/** Longer strings are truncated: people read records, and one record must not fill the buffer. */
export const MAX_VALUE = 8192

const PRINTABLE_ASCII = /^[ !#-[\]-~]*$/

/**
 * Characters that JSON allows but a terminal must not receive: DEL and the C1 controls, format
 * characters (direction marks, zero-width, tags, the byte order mark), line and paragraph
 * separators.
 */
const UNSEEN = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * A JSON string that shows all of its content: it contains nothing that ends a line, moves a
 * cursor, reorders what the reader sees, or is invisible. Lone surrogates are escaped, so that it
 * is valid UTF-8 too.
 */
export function quote(text: string): string {
  if (text.length > MAX_VALUE) return quote(`${text.slice(0, MAX_VALUE - 1)}…`)
  if (PRINTABLE_ASCII.test(text)) return `"${text}"`
  return JSON.stringify(text).replace(UNSEEN, escapeUnits)
}

function escapeUnits(character: string): string {
  let escaped = ''
  for (let i = 0; i < character.length; i++) {
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }
  return escaped
}
