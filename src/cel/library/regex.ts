import { BOOL, STRING } from '../check/types.ts'
import type { Value } from '../values/value.ts'
import { defineLibrary, fn, global, method, type Prepared } from './define.ts'
import { compilePattern, dynamicPattern } from './regex-pattern.ts'

/**
 * `matches`: whether a regular expression in RE2 syntax matches somewhere in the string, in time
 * proportional to the string, whatever the pattern.
 */
export const REGEX = defineLibrary('regex', [
  fn(
    'matches',
    method([STRING, STRING], BOOL, matches, { metered: true, prepare }),
    global([STRING, STRING], BOOL, matches, { metered: true, prepare }),
  ),
])

function matches(text: string, pattern: string): boolean | undefined {
  return dynamicPattern(pattern)?.matches(text)
}

function prepare([, pattern]: readonly (Value | undefined)[]): Prepared | undefined {
  return typeof pattern === 'string' ? compilePattern(pattern)?.matches : undefined
}
