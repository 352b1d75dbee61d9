import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import { type KubeObject, keyOf, type ObjectMeta } from '../cluster/object.ts'
import { SnapshotStore, snapshotOf } from '../cluster/snapshot.ts'
import { readManifests, withClasses } from '../manifests.ts'
import { composeStatus } from '../status/compose.ts'
import { staleStatus } from './stale-status.ts'
import { translate } from './translate.ts'
import { Translator } from './translator.ts'

/*
 * Every object of every case is taken away and comes back, one after the other: each time, the
 * translation of the change must be what translating everything yields, and the objects must have
 * the statuses that it calls for, if no others are written than it says.
 */

const CASES = join(import.meta.dirname, 'cases')
const CONTROLLER = 'portcullis.dev/controller'
const OPTIONS = { controllerName: CONTROLLER, settings: defaultSettings() }

function objectsOf(file: string): readonly KubeObject[] {
  const text = readFileSync(join(CASES, file), 'utf8')
  return withClasses(readManifests([{ file, text }]).objects, CONTROLLER)
}

const NOW = '2026-01-02T03:04:05Z'

const idOf = (kind: string, named: Pick<ObjectMeta, 'name' | 'namespace'>) =>
  `${kind} ${keyOf(named)}`

describe('translation of a change', () => {
  const files = globSync('*.yaml', { cwd: CASES }).filter((name) => !name.endsWith('.out.yaml'))
  for (const file of files.sort()) {
    const title = basename(file, '.yaml').replaceAll('-', ' ')
    it(`yields the same as from scratch when an object goes or comes back: ${title}`, () => {
      const store = new SnapshotStore()
      const live = new Map<string, KubeObject>()
      const put = (object: KubeObject) => {
        live.set(idOf(object.kind, object.metadata), object)
        store.put(object.kind, object)
      }
      for (const object of objectsOf(file)) put(object)
      const translator = new Translator(OPTIONS)
      const whole = translate(snapshotOf(live.values()), OPTIONS)
      const compare = (what: string, expected: typeof whole) => {
        const { models, statuses, touched } = translator.translate(store.take())
        assert.deepEqual(Object.fromEntries(models), Object.fromEntries(expected.models), what)
        assert.deepEqual(statuses(), expected.statuses, what)
        // As the controller does: only what was touched is written.
        for (const status of touched) {
          const object = live.get(idOf(status.kind, status))
          const next = object && composeStatus(object, status, CONTROLLER, NOW)
          if (object !== undefined && next !== undefined) put({ ...object, status: next })
        }
        for (const status of statuses()) {
          const object = live.get(idOf(status.kind, status)) as KubeObject
          assert.equal(composeStatus(object, status, CONTROLLER, NOW), undefined, what)
        }
        const ours = new Set(statuses().map((status) => idOf(status.kind, status)))
        for (const [id, object] of live) {
          if (ours.has(id)) continue
          assert.equal(staleStatus(object.kind, object, CONTROLLER), undefined, `${what}: ${id}`)
        }
      }
      compare('at first', whole)
      for (const id of [...live.keys()]) {
        const object = live.get(id) as KubeObject
        store.remove(object.kind, object)
        live.delete(id)
        compare(`without ${id}`, translate(snapshotOf(live.values()), OPTIONS))
        put(object)
        compare(`with ${id} again`, whole)
      }
    })
  }
})
