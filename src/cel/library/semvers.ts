import { BOOL, INT, SEMVER, STRING } from '../check/types.ts'
import { int } from '../values/number.ts'
import { parseLooseSemver, parseSemver, type Semver } from '../values/semver.ts'
import { defineLibrary, fn, global, method, type Overload } from './define.ts'

/** Semantic versions, with the names and results of Kubernetes. With `true`, `v1.2` is `1.2.0`. */
export const SEMVERS = defineLibrary('semver', [
  fn('semver', global([STRING], SEMVER, parseSemver), global([STRING, BOOL], SEMVER, parseEither)),
  fn(
    'isSemver',
    global([STRING], BOOL, (text: string) => parseSemver(text) !== undefined),
    global([STRING, BOOL], BOOL, (text: string, isLoose: boolean) => {
      return parseEither(text, isLoose) !== undefined
    }),
  ),
  fn('major', number('major')),
  fn('minor', number('minor')),
  fn('patch', number('patch')),
  fn(
    'isLessThan',
    method([SEMVER, SEMVER], BOOL, (a: Semver, b: Semver) => a.compare(b) < 0),
  ),
  fn(
    'isGreaterThan',
    method([SEMVER, SEMVER], BOOL, (a: Semver, b: Semver) => a.compare(b) > 0),
  ),
  fn(
    'compareTo',
    method([SEMVER, SEMVER], INT, (a: Semver, b: Semver) => a.compare(b)),
  ),
  fn(
    'string',
    global([SEMVER], STRING, (version: Semver) => version.text),
  ),
])

function number(name: 'major' | 'minor' | 'patch'): Overload {
  return method([SEMVER], INT, (version: Semver) => int(version[name]))
}

function parseEither(text: string, isLoose: boolean): Semver | undefined {
  return isLoose ? parseLooseSemver(text) : parseSemver(text)
}
