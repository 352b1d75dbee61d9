import type { Problem } from './problem.ts'

/** The values of `${NAME}` variables. */
export type Environment = Readonly<Record<string, string | undefined>>

// biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax in a file
const HOW_TO_WRITE = 'write ${NAME} or ${NAME:-default}; write $${ for a literal ${'

/** A string with variables expanded; `sources` maps each unit back to its original offset. */
export interface Expanded {
  readonly text: string
  readonly sources: readonly number[]
}

/**
 * Expands `${NAME}`, `${NAME:-default}` and `$NAME`; `$$` is a literal dollar. Any other dollar is
 * literal: regular expressions and password hashes need no escape. An unset `$NAME` within a longer
 * value is kept, since it may be part of a hash; it is reported, because it may also be a variable.
 */
export function expand(
  text: string,
  environment: Environment,
  report: (problem: Problem) => void,
): Expanded | undefined {
  if (!text.includes('$')) return undefined
  const whole = /^\$([A-Z][A-Z0-9_]*)$/.exec(text)
  let expanded = ''
  const sources: number[] = []
  let isChanged = false
  const put = (piece: string, at: number, length: number) => {
    isChanged = true
    for (let i = 0; i < piece.length; i++) sources.push(at)
    expanded += piece
    return at + length
  }
  const lookUp = (name: string, otherwise: string | undefined, at: number, length: number) => {
    const value = environment[name]
    if (value !== undefined && !(value === '' && otherwise !== undefined)) return value
    if (otherwise !== undefined) return otherwise
    report({
      code: 'PC0204',
      message: `environment variable ${name} is not set`,
      hint: `set the variable, or provide a default: \${${name}:-value}; write $$ for a literal dollar sign`,
      start: at,
      end: at + length,
    })
    return ''
  }
  if (whole !== null) {
    put(lookUp(whole[1] as string, undefined, 0, text.length), 0, text.length)
    return { text: expanded, sources: [...sources, text.length] }
  }
  let at = 0
  while (at < text.length) {
    if (text.startsWith('$$', at)) at = put('$', at, 2)
    else if (text.startsWith('${', at)) {
      const close = text.indexOf('}', at)
      const length = (close === -1 ? text.length : close + 1) - at
      const reference = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}$/.exec(
        text.slice(at, at + length),
      )
      if (reference === null) {
        report({
          code: 'PC0205',
          message: close === -1 ? '`${` is not closed' : 'invalid variable name',
          hint: HOW_TO_WRITE,
          start: at,
          end: at + length,
        })
        at = put('', at, length)
      } else {
        const [, name = '', otherwise] = reference
        at = put(lookUp(name, otherwise, at, length), at, length)
      }
    } else {
      const [written = '', name = ''] = text.startsWith('$', at)
        ? (/^\$([A-Z][A-Z0-9_]*)(?!\w)/.exec(text.slice(at)) ?? [])
        : []
      const value = environment[name]
      if (value !== undefined) {
        at = put(value, at, written.length)
        continue
      }
      if (written !== '') {
        report({
          code: 'PC0207',
          severity: 'warning',
          message: `\`${written}\` is not expanded: environment variable ${name} is not set`,
          hint: `set the variable, or write $${written} for a literal dollar sign`,
          start: at,
          end: at + written.length,
        })
      }
      sources.push(at)
      expanded += text.charAt(at++)
    }
  }
  return isChanged ? { text: expanded, sources: [...sources, text.length] } : undefined
}
