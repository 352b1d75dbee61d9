import { type JsonPath, skipSpace, skipString, skipValue } from './json-text.ts'

/** Decides whether a value is entered. The path is valid only until the visitor returns. */
export type ChooseValue = (path: JsonPath, first: string) => 'enter' | 'keep'

/** Returns the replacement for a string, or undefined to keep it as written. */
export type ReplaceString = (value: string, path: JsonPath) => Generator<void, string | undefined>

/** Values per step. */
const STEP = 512

/**
 * Replaces strings in a valid JSON text and keeps every other character as is. Runs in steps, since
 * a message may have a million values.
 */
export function* replaceStrings(
  text: string,
  choose: ChooseValue,
  replace: ReplaceString,
): Generator<void, string> {
  const path: (string | number)[] = []
  /** For each enclosing container: its number of elements so far, or -1 for an object. */
  const around: number[] = []
  const pieces: string[] = []
  let copied = 0
  let at = skipSpace(text, 0)
  for (let count = 1; ; count++) {
    const first = text[at] ?? ''
    const isContainer = first === '{' || first === '['
    const isEntered = choose(path, first) === 'enter'
    if (isEntered && isContainer) {
      const inside = skipSpace(text, at + 1)
      if (text[inside] !== '}' && text[inside] !== ']') {
        around.push(first === '{' ? -1 : 0)
        at = first === '{' ? enterMember(text, inside, path) : inside
        if (first === '[') path.push(0)
        continue
      }
    }
    const end = skipValue(text, at)
    if (isEntered && first === '"') {
      const own = yield* replace(JSON.parse(text.slice(at, end)) as string, path)
      if (own !== undefined) {
        pieces.push(text.slice(copied, at), JSON.stringify(own))
        copied = end
      }
    }
    if (count % STEP === 0) yield
    at = skipSpace(text, end)
    while (around.length > 0 && text[at] !== ',') {
      around.pop()
      path.pop()
      at = skipSpace(text, at + 1)
    }
    const elements = around.pop()
    if (elements === undefined) break
    around.push(elements < 0 ? -1 : elements + 1)
    path.pop()
    at = skipSpace(text, at + 1)
    if (elements < 0) at = enterMember(text, at, path)
    else path.push(elements + 1)
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(copied)
}

/** Returns the position where the value of the member begins. */
function enterMember(text: string, at: number, path: (string | number)[]): number {
  const end = skipString(text, at)
  path.push(JSON.parse(text.slice(at, end)) as string)
  return skipSpace(text, skipSpace(text, end) + 1)
}
