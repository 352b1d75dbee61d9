/** Hints for syntax of other languages: `and`, `<>`, `=~`, typographic quotes. */

const NAME_ALONE = 'use the name of the attribute alone: jwt.sub'
const STRAIGHT = 'use straight quotes: \'x\' or "x"'
const PATTERN = "to match a pattern, use x.matches('…')"
const NOT_EQUAL = 'use != for not equal'

/** A hint for a character that no token begins with. */
export function characterHint(text: string, at: number): string | undefined {
  switch (text.charAt(at)) {
    case '=':
      return equalsHint(text.slice(Math.max(0, at - 2), at), text.charAt(at + 1))
    case '&':
      return 'use && for and'
    case '|':
      return 'use || for or'
    case '~':
      return PATTERN
    case '$':
      return NAME_ALONE
    case '#':
      return 'comments start with //'
    case ';':
      return 'remove the ; at the end'
    case '‘':
    case '’':
    case '“':
    case '”':
      return STRAIGHT
    default:
      return invisibleHint(text.codePointAt(at) ?? 0)
  }
}

/** A hint for invisible white space and format characters, which often come from copied text. */
function invisibleHint(code: number): string | undefined {
  if (!/[\p{White_Space}\p{Cf}]/u.test(String.fromCodePoint(code))) return undefined
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  return `${name} is not a plain space: remove it, or replace it with a space`
}

function equalsHint(before: string, next: string): string {
  if (before === '!=') return NOT_EQUAL
  switch (next) {
    case '>':
      return 'use >= for at least; macros have the form list.exists(x, x == …)'
    case '<':
      return 'use <= for at most'
    case '~':
      return PATTERN
    default:
      return 'use == to compare'
  }
}

const METHODS = ['contains', 'startsWith', 'endsWith', 'matches']

const WORDS: ReadonlyMap<string, string> = new Map([
  ['and', 'use && for and'],
  ['or', 'use || for or'],
  ['not', 'use ! for not: !(x in [1, 2])'],
  ['eq', 'use == to compare'],
  ['is', 'use == to compare'],
  ['equals', 'use == to compare'],
  ['ne', NOT_EQUAL],
  ['like', PATTERN],
  ['then', 'use condition ? a : b'],
  ['has', "use 'x' in list"],
])

/** A hint for an unexpected token from `start` to `end`; the previous one ends at `before`. */
export function tokenHint(
  text: string,
  start: number,
  end: number,
  before: number,
): string | undefined {
  const found = text.slice(start, end)
  const left = text.slice(Math.max(0, before - 200), before)
  const isJoined = start === before
  if (/(?:^|[^\w.])not$/i.test(left)) return 'use ! for not: !(x == y)'
  const word = found.toLowerCase()
  const method = METHODS.find((name) => name.toLowerCase() === word)
  if (method !== undefined) return `use x.${method}('…')`
  const known = WORDS.get(word)
  if (known !== undefined) return known
  switch (found.charAt(0)) {
    case '>':
      return isJoined && left.endsWith('<') ? NOT_EQUAL : undefined
    case '?':
      return left.endsWith('?') ? "for a default, use jwt.?team.orValue('none')" : undefined
    case '*':
      return isJoined && left.endsWith('/') ? 'comments start with //' : undefined
    case '`':
      return STRAIGHT
    case '/':
      return 'put strings, including paths, in quotes'
    case '}':
      return text.includes('{{') ? NAME_ALONE : undefined
    case ',':
      return /\bin\s*(?:\([^()]*|'[^']*'|"[^"]*")$/.test(left)
        ? "use brackets for a list: ['a', 'b']"
        : undefined
    case '.':
      return /\d\.\d+$/.test(left) ? "put addresses in quotes: '10.0.0.7'" : undefined
    case '':
      return text.includes('?.') ? 'use .? for optional fields: jwt.?sub' : undefined
    default:
      return isJoined && /['"]$/.test(left)
        ? "to put a quote inside a string, use \\' or the other kind of quotes around it"
        : undefined
  }
}

/** A hint for a reserved word where a value is expected. */
export function reservedHint(text: string, name: string, at: number): string {
  if (/\w-$/.test(text.slice(0, at)))
    return "use brackets for a name with a hyphen: request.headers['x-forwarded-for']"
  return name === 'if' || name === 'else'
    ? 'use condition ? a : b'
    : `to use it as a key, write ['${name}']`
}
