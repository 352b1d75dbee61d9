import { INT, listOf, optionalOf, STRING } from '../check/types.ts'
import { fail } from '../values/failure.ts'
import { afford, charge, MAX_STRING, overBound } from '../values/fuel.ts'
import type { Int } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import type { Value } from '../values/value.ts'
import { defineLibrary, fn, global, method, type Overload } from './define.ts'
import type { Captures } from './regex-captures.ts'
import { compilePattern, dynamicPattern, type Pattern } from './regex-pattern.ts'

/** find and findAll, as in Kubernetes, and cel-go's regex extension. */
export const REGEX_FUNCTIONS = defineLibrary('regexFunctions', [
  fn('find', search([STRING, STRING], STRING, find, method)),
  fn(
    'findAll',
    search(
      [STRING, STRING],
      listOf(STRING),
      (pattern, text) => textsOf(pattern, text, -1, 0),
      method,
    ),
    search(
      [STRING, STRING, INT],
      listOf(STRING),
      (pattern, text, [max]) => textsOf(pattern, text, Number(max as Int), 0),
      method,
    ),
  ),
  fn('regex.extract', search([STRING, STRING], optionalOf(STRING), extract, global, hasOneGroup)),
  fn('regex.extractAll', search([STRING, STRING], listOf(STRING), extractAll, global, hasOneGroup)),
  fn(
    'regex.replace',
    search(
      [STRING, STRING, STRING],
      STRING,
      (pattern, text, [by]) => replace(pattern, text, by as string, -1),
      global,
      isReplacement,
    ),
    search(
      [STRING, STRING, STRING, INT],
      STRING,
      (pattern, text, [by, max]) => replace(pattern, text, by as string, Number(max as Int)),
      global,
      isReplacement,
    ),
  ),
])

type Search = (pattern: Pattern, text: string, rest: readonly Value[]) => Value | undefined

/** Whether constant arguments can be used with the pattern; otherwise leaves a reason in `fail`. */
type Fits = (pattern: Pattern, rest: readonly (Value | undefined)[]) => boolean

/**
 * The string comes first, then the pattern, which is compiled once if it is constant. Arguments
 * that do not fit it are errors of the expression then, whether anything matches or not.
 */
function search(
  params: Overload['params'],
  result: Overload['result'],
  run: Search,
  declare: typeof global,
  fits: Fits = () => true,
): Overload {
  const call = (text: string, pattern: string, ...rest: readonly Value[]) => {
    const compiled = dynamicPattern(pattern)
    return compiled === undefined ? undefined : run(compiled, text, rest)
  }
  const prepare = ([, pattern, ...given]: readonly (Value | undefined)[]) => {
    const compiled = typeof pattern === 'string' ? compilePattern(pattern) : undefined
    if (compiled === undefined || !fits(compiled, given)) return undefined
    return (text: string, _: string, ...rest: readonly Value[]) => run(compiled, text, rest)
  }
  return declare(params, result, call, { metered: true, prepare })
}

/** Returns an empty string if nothing matches. */
function find(pattern: Pattern, text: string): string | undefined {
  const found = pattern.find(text)
  return found === undefined ? undefined : found === null ? '' : groupOf(found, text, 0)
}

function extract(pattern: Pattern, text: string): Optional | undefined {
  if (!hasOneGroup(pattern)) return undefined
  const found = pattern.find(text)
  if (found === undefined) return undefined
  if (found === null) return Optional.none
  const part = groupOf(found, text, pattern.groups)
  return pattern.groups > 0 && part === '' ? Optional.none : new Optional(part)
}

function extractAll(pattern: Pattern, text: string): readonly string[] | undefined {
  if (!hasOneGroup(pattern)) return undefined
  const all = textsOf(pattern, text, -1, pattern.groups)
  return pattern.groups === 0 ? all : all?.filter((part) => part !== '')
}

function hasOneGroup({ groups }: Pattern): boolean {
  if (groups > 1) fail('the regular expression has more than one group')
  return groups <= 1
}

function textsOf(
  pattern: Pattern,
  text: string,
  max: number,
  group: number,
): readonly string[] | undefined {
  return allOf(pattern, text, max)?.map((found) => groupOf(found, text, group))
}

function isReplacement(pattern: Pattern, [by]: readonly (Value | undefined)[]): boolean {
  return typeof by !== 'string' || partsOf(pattern, by) !== undefined
}

/** In the replacement, `\1` refers to a group and `\\` is a backslash. */
function partsOf(pattern: Pattern, replacement: string): readonly string[] | undefined {
  const parts = replacement.match(/\\[\s\S]?|[^\\]+/g) ?? []
  for (const part of parts) {
    if (!part.startsWith('\\') || part === '\\\\') continue
    if (!/^\\[0-9]$/.test(part)) return fail('invalid replacement', replacement)
    if (Number(part[1]) > pattern.groups)
      return fail('the replacement refers to an unknown group', part)
  }
  return parts
}

function replace(
  pattern: Pattern,
  text: string,
  replacement: string,
  max: number,
): string | undefined {
  const parts = partsOf(pattern, replacement)
  if (parts === undefined) return undefined
  const all = allOf(pattern, text, max)
  if (all === undefined) return undefined
  let result = ''
  let from = 0
  for (const found of all) {
    result += text.slice(from, found[0])
    for (const part of parts) {
      if (!part.startsWith('\\')) result += part
      else result += part === '\\\\' ? '\\' : groupOf(found, text, Number(part[1]))
    }
    from = found[1] as number
    if (!afford(8 * parts.length)) return undefined
    if (result.length > MAX_STRING) return overBound('string too long')
  }
  charge(result.length >> 4)
  return result + text.slice(from)
}

/**
 * All matches as Go finds them: they do not overlap, and an empty match does not directly follow
 * another match.
 */
function allOf(pattern: Pattern, text: string, max: number): readonly Captures[] | undefined {
  const all: Captures[] = []
  let last = -1
  for (let from = 0; from <= text.length && all.length !== max; ) {
    const found = pattern.find(text, from)
    if (found === undefined) return undefined
    if (found === null) break
    const [start = 0, end = 0] = found
    if (end > start || start !== last) all.push(found)
    last = end
    from = end > start ? end : end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1)
    if (!afford(10)) return undefined
  }
  return all
}

function groupOf(found: Captures, text: string, group: number): string {
  const start = found[2 * group] ?? -1
  return start < 0 ? '' : text.slice(start, found[2 * group + 1])
}
