import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { idleServices } from '../../src/cli/idle-deps.ts'
import type { KubeObject } from '../../src/controller/cluster/object.ts'
import { snapshotOf } from '../../src/controller/cluster/snapshot.ts'
import { readManifests, withClasses } from '../../src/controller/manifests.ts'
import { translate } from '../../src/controller/translate/translate.ts'
import { compileProgram } from '../../src/program/compile.ts'
import { closeKept, retiredKept } from '../../src/program/kept.ts'
import { defaultSettings } from '../../src/sources/file/sections/config.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

const CONTROLLER = 'portcullis.dev/controller'
const FOLDER = join(import.meta.dirname, '../../src/controller/translate/cases')
const CASES = globSync('*.yaml', { cwd: FOLDER })
  .filter((name) => !name.endsWith('.out.yaml'))
  .sort()
  .map((name) => {
    const text = readFileSync(join(FOLDER, name), 'utf8')
    return readManifests([{ file: name, text }]).objects
  })

const odd = fc.oneof(
  fc.constantFrom(null, true, 0, -1, 65_536, '', '*', '../x', 'a/b', '\u0000', '{', [], {}, [null]),
  fc.jsonValue({ maxDepth: 2 }),
)

/** A place in an object, given by steps modulo the number of available members. */
const edit = fc.record({
  object: fc.nat({ max: 1000 }),
  steps: fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 9 }),
  value: odd,
  isRemoved: fc.boolean(),
})

describe('manifests with errors', () => {
  it('are still translated, into a Model that compiles', () => {
    assertProperty(
      'manifests',
      fc.property(
        fc.nat({ max: CASES.length - 1 }),
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        (index, edits) => {
          const objects = structuredClone(CASES[index] ?? []) as KubeObject[]
          for (const one of edits) apply(objects, one)
          const options = { controllerName: CONTROLLER, settings: defaultSettings() }
          for (const assumesMissing of [false, true]) {
            const snapshot = snapshotOf(withClasses(objects, CONTROLLER))
            const { models } = translate(snapshot, { ...options, assumesMissing })
            for (const model of models.values()) {
              const program = compileProgram(model, undefined, idleServices({ value: 0 }))
              assert.ok(program.listeners !== undefined)
              closeKept(retiredKept(program, undefined))
            }
          }
        },
      ),
      fuzz(1),
    )
  })
})

interface Edit {
  readonly object: number
  readonly steps: readonly number[]
  readonly value: unknown
  readonly isRemoved: boolean
}

/** Keeps the metadata: an API server accepts no object without a name, and neither do manifests. */
function apply(objects: readonly KubeObject[], { object, steps, value, isRemoved }: Edit): void {
  const chosen = objects[object % objects.length] as unknown as Record<string, unknown>
  let place: Record<string, unknown> = chosen
  let key = Object.keys(chosen).filter((name) => !FIXED.has(name))[0] ?? 'spec'
  for (const step of steps) {
    const next = place[key]
    if (typeof next !== 'object' || next === null) break
    const keys = Object.keys(next)
    if (keys.length === 0) break
    place = next as Record<string, unknown>
    key = keys[step % keys.length] as string
  }
  if (isRemoved && !Array.isArray(place)) delete place[key]
  else place[key] = structuredClone(value)
}

const FIXED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])
