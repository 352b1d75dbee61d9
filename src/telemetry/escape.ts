/** Longer strings are cut: a record is read by people, and must not fill the buffer alone. */
export const LONGEST_VALUE = 8192

const PRINTABLE_ASCII = /^[ !#-[\]-~]*$/

/**
 * What JSON lets through and a terminal must not see: DEL and the C1 controls, format characters
 * (direction marks, zero-width, tags, the byte order mark), line and paragraph separators.
 */
const UNSEEN = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * A JSON string that shows what it holds: nothing in it can end a line, move a cursor, reorder what
 * the reader sees or hide. Lone surrogates are escaped, so that it is valid UTF-8 too.
 */
export function quote(text: string): string {
  if (text.length > LONGEST_VALUE) return quote(`${text.slice(0, LONGEST_VALUE - 1)}…`)
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
