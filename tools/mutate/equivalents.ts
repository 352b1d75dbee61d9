import { flat, type MutantPlace } from './mutant.ts'

/** A mutant that no test can notice, because the program does the same. */
export interface Equivalent {
  readonly file: string
  /** The whole line in which it begins. */
  readonly line: string
  readonly original: string
  readonly replacement: string
  readonly reason: string
}

const FIELDS = ['in', 'replace', 'with', 'because'] as const

/** Blocks of five lines: the file, then `in`, `replace`, `with` and `because`. `#` is a comment. */
export function readEquivalents(text: string): readonly Equivalent[] {
  return text
    .replaceAll(/^#.*\n/gm, '')
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const [file = '', ...rows] = block.trim().split('\n')
      const [line, original, replacement, reason] = FIELDS.map((name, index) => {
        const [, value] = new RegExp(`^${name}\\s+(.+)$`).exec(rows[index] ?? '') ?? []
        if (value === undefined) throw new Error(`${file}: expected \`${name}\`: ${rows[index]}`)
        return flat(value)
      })
      return { file, line, original, replacement, reason } as Equivalent
    })
}

export function renderEquivalent(equivalent: Equivalent): string {
  const { file, line, original, replacement, reason } = equivalent
  return `${file}\nin       ${line}\nreplace  ${original}\nwith     ${replacement}\nbecause  ${reason}\n`
}

/** Matches mutants by text, since line numbers change. */
export class Equivalents {
  readonly #keys: ReadonlySet<string>

  constructor(list: readonly Equivalent[]) {
    this.#keys = new Set(list.map(keyOf))
  }

  has(place: MutantPlace): boolean {
    return this.#keys.has(keyOf(equivalentOf(place)))
  }
}

/** A mutant as an entry of the list, whose reason is still to be written. */
export function equivalentOf(place: MutantPlace, reason = '?'): Equivalent {
  const { file, lineText, original, replacement } = place
  return {
    file,
    line: lineText,
    original: flat(original),
    replacement: flat(replacement),
    reason,
  }
}

function keyOf({ file, line, original, replacement }: Equivalent): string {
  return JSON.stringify([file, line, original, replacement])
}
