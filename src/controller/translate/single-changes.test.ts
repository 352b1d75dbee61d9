import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import { type KubeObject, keyOf } from '../cluster/object.ts'
import { SnapshotStore, snapshotOf } from '../cluster/snapshot.ts'
import { readManifests, withClasses } from '../manifests.ts'
import { translate } from './translate.ts'
import { Translator } from './translator.ts'

/*
 * Every object of every case is taken away and comes back, one after the other: each time, the
 * translation of the change must be what translating everything yields.
 */

const CASES = join(import.meta.dirname, 'cases')
const CONTROLLER = 'portcullis.dev/controller'
const OPTIONS = { controllerName: CONTROLLER, settings: defaultSettings() }

function objectsOf(file: string): readonly KubeObject[] {
  const text = readFileSync(join(CASES, file), 'utf8')
  return withClasses(readManifests([{ file, text }]).objects, CONTROLLER)
}

describe('translation of a change', () => {
  const files = globSync('*.yaml', { cwd: CASES }).filter((name) => !name.endsWith('.out.yaml'))
  for (const file of files.sort()) {
    const title = basename(file, '.yaml').replaceAll('-', ' ')
    it(`yields the same as from scratch when an object goes or comes back: ${title}`, () => {
      const store = new SnapshotStore()
      const live = new Map<string, KubeObject>()
      for (const object of objectsOf(file)) {
        live.set(`${object.kind} ${keyOf(object.metadata)}`, object)
        store.put(object.kind, object)
      }
      const translator = new Translator(OPTIONS)
      const whole = translate(snapshotOf(live.values()), OPTIONS)
      const compare = (what: string, expected: typeof whole) => {
        const { models, statuses } = translator.translate(store.take())
        assert.deepEqual(Object.fromEntries(models), Object.fromEntries(expected.models), what)
        assert.deepEqual(statuses(), expected.statuses, what)
      }
      compare('at first', whole)
      for (const [id, object] of [...live]) {
        store.remove(object.kind, object)
        live.delete(id)
        compare(`without ${id}`, translate(snapshotOf(live.values()), OPTIONS))
        store.put(object.kind, object)
        live.set(id, object)
        compare(`with ${id} again`, whole)
      }
    })
  }
})
