/** Values in a long text that are read at once: some five milliseconds. */
const MAX_PARTS = 1 << 15
/** What is looked at for it: escaped quotes, and letters outside of strings. */
const MAX_LOOKS = 1 << 17
/** What is no longer has no more values than can be read. */
const FEW_LETTERS = 1 << 16

const MANY_LETTERS = 1 << 20

export function isLongText(text: string): boolean {
  return text.length > FEW_LETTERS
}

/** Letters of a text of a provider that are read at once, if most of them are in few strings. */
export const MAX_READ_AT_ONCE = 4 << 20

/** Whether to read a text of a provider would hold up others: it is too long, or crowded. */
export function isTooMuch(text: string): boolean {
  return text.length > MAX_READ_AT_ONCE || isCrowded(text)
}

/** Whether a text of a provider has so many values that reading it would hold up others. */
export function isCrowded(text: string, scale = 1): boolean {
  return isLongText(text) && lookAtLongText(text, scale) === 'crowded'
}

/**
 * What a long text of a provider is, at a fraction of the cost of reading it: `crowded`, with so
 * many values that reading it would hold up others; `odd`, with names that have escapes or numbers
 * that a double may not hold; or `plain`. Strings are passed over. `scale`: how many times as many
 * values are not too many.
 */
export function lookAtLongText(text: string, scale = 1): 'crowded' | 'odd' | 'plain' {
  const [maxParts, maxLooks] = [scale * MAX_PARTS, scale * MAX_LOOKS]
  if (text.length > MANY_LETTERS && hasManyEscapes(text, maxParts)) return 'crowded'
  let [parts, looks, digits] = [0, 0, 0]
  let isOdd = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 44 || code === 91 || code === 123) parts++
    if (parts > maxParts || ++looks > maxLooks) return 'crowded'
    const isDigit = (code >= 48 && code <= 57) || code === 46
    // An `e` behind a digit is an exponent.
    if (digits > 0 && (code === 69 || code === 101)) isOdd = true
    digits = isDigit ? digits + 1 : 0
    if (digits > 15) isOdd = true
    if (code !== 34) continue
    const start = at
    do {
      at = text.indexOf('"', at + 1)
      if (at < 0) return isOdd ? 'odd' : 'plain'
      if (++looks > maxLooks) return 'crowded'
    } while (isEscaped(text, at))
    if (isName(text, at + 1) && text.slice(start, at).includes('\\')) isOdd = true
  }
  return isOdd ? 'odd' : 'plain'
}

/** Of what is so long, letters alone are read in time, but not letters that are written as escapes. */
function hasManyEscapes(text: string, max: number): boolean {
  let count = 0
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at + 1)) {
    if (++count > max) return true
  }
  return false
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === 92) before--
  return (at - before) % 2 === 0
}

/** Whether a colon follows, perhaps behind white space. */
function isName(text: string, from: number): boolean {
  let at = from
  while (text.charCodeAt(at) <= 32) at++
  return text.charCodeAt(at) === 58
}
