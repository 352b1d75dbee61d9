/** Hints for what other languages write otherwise: `and`, `<>`, `=~`, typographic quotes. */

const NAME_ALONE = 'an attribute is written by its name alone: jwt.sub'
const STRAIGHT = 'a text stands in straight quotes: \'x\' or "x"'
const PATTERN = "for a pattern, write x.matches('…')"
const NOT_EQUAL = 'not equal is !='

/** A character that no token begins with. */
export function characterHint(text: string, at: number): string | undefined {
  switch (text.charAt(at)) {
    case '=':
      return equalsHint(text.slice(Math.max(0, at - 2), at), text.charAt(at + 1))
    case '&':
      return 'and is &&'
    case '|':
      return 'or is ||'
    case '~':
      return PATTERN
    case '$':
      return NAME_ALONE
    case '#':
      return 'a comment begins with //'
    case ';':
      return 'an expression has no ; at its end'
    case '‘':
    case '’':
    case '“':
    case '”':
      return STRAIGHT
    default:
      return invisibleHint(text.codePointAt(at) ?? 0)
  }
}

/** Blanks and marks that came along when a text was copied look like nothing at all. */
function invisibleHint(code: number): string | undefined {
  if (!/[\p{White_Space}\p{Cf}]/u.test(String.fromCodePoint(code))) return undefined
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  return `${name} is not a plain space: take it away, or put a space`
}

function equalsHint(before: string, next: string): string {
  if (before === '!=') return NOT_EQUAL
  switch (next) {
    case '>':
      return 'at least is >=; a macro is written list.exists(x, x == …)'
    case '<':
      return 'at most is <='
    case '~':
      return PATTERN
    default:
      return 'compare with =='
  }
}

const METHODS = ['contains', 'startsWith', 'endsWith', 'matches']

const WORDS: ReadonlyMap<string, string> = new Map([
  ['and', 'and is &&'],
  ['or', 'or is ||'],
  ['not', 'not is !: !(x in [1, 2])'],
  ['eq', 'compare with =='],
  ['is', 'compare with =='],
  ['equals', 'compare with =='],
  ['ne', NOT_EQUAL],
  ['like', PATTERN],
  ['then', 'write condition ? a : b'],
  ['has', "write 'x' in list"],
])

/** A token, from `start` to `end`, where another was expected; the one before it ends at `before`. */
export function tokenHint(
  text: string,
  start: number,
  end: number,
  before: number,
): string | undefined {
  const found = text.slice(start, end)
  const left = text.slice(Math.max(0, before - 200), before)
  const isJoined = start === before
  if (/(?:^|[^\w.])not$/i.test(left)) return 'not is !: !(x == y)'
  const word = found.toLowerCase()
  const method = METHODS.find((name) => name.toLowerCase() === word)
  if (method !== undefined) return `write x.${method}('…')`
  const known = WORDS.get(word)
  if (known !== undefined) return known
  switch (found.charAt(0)) {
    case '>':
      return isJoined && left.endsWith('<') ? NOT_EQUAL : undefined
    case '?':
      return left.endsWith('?') ? "for a default, write jwt.?team.orValue('none')" : undefined
    case '*':
      return isJoined && left.endsWith('/') ? 'a comment begins with //' : undefined
    case '`':
      return STRAIGHT
    case '/':
      return 'a text stands in quotes, a path as well'
    case '}':
      return text.includes('{{') ? NAME_ALONE : undefined
    case ',':
      return /\bin\s*(?:\([^()]*|'[^']*'|"[^"]*")$/.test(left)
        ? "a list is written ['a', 'b']"
        : undefined
    case '.':
      return /\d\.\d+$/.test(left) ? "an address is a text: '10.0.0.7'" : undefined
    case '':
      return text.includes('?.') ? 'what may be absent is read with .?: jwt.?sub' : undefined
    default:
      return isJoined && /['"]$/.test(left)
        ? "a quote within a text is written \\', or put other quotes around it"
        : undefined
  }
}

/** A reserved word where a value is expected. */
export function reservedHint(text: string, name: string, at: number): string {
  if (/\w-$/.test(text.slice(0, at)))
    return "a name with a hyphen is written in brackets: request.headers['x-forwarded-for']"
  return name === 'if' || name === 'else'
    ? 'write condition ? a : b'
    : `as a key, write ['${name}']`
}
