/** A change of the source that some test should notice. */
export interface Mutant {
  readonly id: number
  readonly file: string
  readonly room: string
  readonly kind: string
  readonly line: number
  /** The text of that line. */
  readonly lineText: string
  readonly start: number
  readonly end: number
  readonly original: string
  /** An expression that takes the place of the original. */
  readonly replacement: string
  /** Its expression is a whole statement. */
  readonly isStatement: boolean
  /** It is in no function. */
  readonly isTopLevel: boolean
}

/** A mutant before it is drawn. */
export type MutantPlace = Omit<Mutant, 'id'>

/** Replacement of a statement that is left out. */
export const DROPPED = 'undefined'

/** The folder directly under src; `controller/translate` is a room of its own. */
export function roomOf(file: string): string {
  const [, first = '', second] = file.split('/')
  return first === 'controller' && second === 'translate' ? 'controller/translate' : first
}

export function renderMutant({ file, line, original, replacement, isStatement }: Mutant): string {
  const mutated = isStatement && replacement === DROPPED ? '(left out)' : replacement
  return `${file}:${line}  ${brief(original)} → ${brief(mutated)}`
}

/** On one line. */
export function flat(code: string): string {
  return code.replaceAll(/\s+/g, ' ').trim()
}

function brief(code: string): string {
  const line = flat(code)
  return line.length <= 100 ? line : `${line.slice(0, 60)} … ${line.slice(-35)}`
}
