import { children, type Term } from '../../cel/check/term.ts'

/** Strings that may change the outcome of a condition, for the search for examples. */
export function hintsIn(term: Term): readonly string[] {
  if (term.kind === 'call' && term.name === 'matches') {
    const pattern = term.args[1]
    if (pattern?.kind === 'constant' && typeof pattern.value === 'string') {
      return [sampleOf(pattern.value)]
    }
  }
  if (term.kind === 'constant') {
    if (typeof term.value === 'string') return [term.value]
    if (!Array.isArray(term.value)) return []
    return term.value.filter((value) => typeof value === 'string')
  }
  return children(term).flatMap(hintsIn)
}

/** A string that a simple regular expression may match, using the first alternative everywhere. */
export function sampleOf(pattern: string): string {
  return pattern
    .replaceAll(/\(\?[:i]+|\\[AzbB]/g, (part) => (part.startsWith('(') ? '(' : ''))
    .replaceAll(/\[\^[^\]]*\]/g, 'z')
    .replaceAll(/\[([^\]])[^\]]*\]/g, '$1')
    .replaceAll(/\\d/g, '7')
    .replaceAll(/\\w/g, 'w')
    .replaceAll(/\\s/g, ' ')
    .replaceAll(/\|[^)|]*/g, '')
    .replaceAll(/(\\?.)\{(\d+)[^}]*\}/g, (_, one: string, count: string) => one.repeat(+count))
    .replaceAll(/\.[*+?]/g, 'x')
    .replaceAll(/(?<!\\)[*+?^$()]/g, '')
    .replaceAll(/\\(.)/g, '$1')
}
