/** The max values of a long text to read at once: some five milliseconds. */
const MAX_PARTS = 1 << 15
/** The max characters to inspect for that: escaped quotes, and characters outside strings. */
const MAX_LOOKS = 1 << 17
/** A shorter text has no more values than can be read. */
const FEW_LETTERS = 1 << 16

const MANY_LETTERS = 1 << 20

export function isLongText(text: string): boolean {
  return text.length > FEW_LETTERS
}

/** The max characters of a provider's text to read at once, if most of them are in few strings. */
export const MAX_READ_AT_ONCE = 4 << 20

/** True if reading a provider's text would block other requests: it is too long, or crowded. */
export function isTooMuch(text: string): boolean {
  return text.length > MAX_READ_AT_ONCE || isCrowded(text)
}

/** True if a provider's text has so many values that reading it would block other requests. */
export function isCrowded(text: string, scale = 1): boolean {
  return isLongText(text) && lookAtLongText(text, scale) === 'crowded'
}

/**
 * Classifies a provider's long text at a fraction of the cost of reading it: `crowded` has so many
 * values that reading it would block other requests, `odd` has escaped names or numbers that a
 * double may not represent, all else is `plain`. Strings are skipped. `scale` multiplies the
 * allowed number of values.
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
    // An `e` after a digit is an exponent.
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

/** In such a long text, plain characters can be read in time, but escaped ones cannot. */
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

/** True if a colon follows, perhaps after white space. */
function isName(text: string, from: number): boolean {
  let at = from
  while (text.charCodeAt(at) <= 32) at++
  return text.charCodeAt(at) === 58
}
