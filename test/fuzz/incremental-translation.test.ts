import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type KubeObject, keyOf } from '../../src/controller/cluster/object.ts'
import { SnapshotStore, snapshotOf } from '../../src/controller/cluster/snapshot.ts'
import { readManifests, withClasses } from '../../src/controller/manifests.ts'
import type { ObjectStatus } from '../../src/controller/translate/conditions.ts'
import { type TranslateOptions, translate } from '../../src/controller/translate/translate.ts'
import { Translator } from '../../src/controller/translate/translator.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import { canonicalJson } from '../../src/model/json.ts'
import { defaultSettings } from '../../src/sources/file/sections/config.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

const CASES = join(import.meta.dirname, '../../src/controller/translate/cases')
const CONTROLLER = 'portcullis.dev/controller'

/** Every object of every case; objects with the same key are variants of each other. */
const universe = Map.groupBy(corpus(), ({ kind, metadata }) => `${kind} ${keyOf(metadata)}`)
const ids = [...universe.keys()].sort()
/**
 * Objects by kind: an edit may replace the content of an object with that of another of its kind.
 */
const byKind = Map.groupBy(corpus(), ({ kind }) => kind)

function corpus(): readonly KubeObject[] {
  const files = globSync('*.yaml', { cwd: CASES }).filter((name) => !name.endsWith('.out.yaml'))
  const objects = files.sort().flatMap((file) => {
    const text = readFileSync(join(CASES, file), 'utf8')
    return withClasses(readManifests([{ file, text }]).objects, CONTROLLER)
  })
  const foreign = objects
    .filter(({ kind }) => kind === 'GatewayClass')
    .map((one) => ({ ...one, spec: { controllerName: 'example.com/other' } }))
  const unreadable = objects
    .filter(({ kind }) => ['HTTPRoute', 'ProxyPolicy', 'BackendTLSPolicy'].includes(kind))
    .slice(0, 5)
    .map((one) => ({ ...one, spec: { targetRefs: 1, parentRefs: 1 } }))
  return [...objects, ...foreign, ...unreadable]
}

interface Edit {
  readonly id: number
  readonly what: 'put' | 'swap' | 'remove' | 'status' | 'label' | 'age'
  readonly pick: number
}

const edit: fc.Arbitrary<Edit> = fc.record({
  id: fc.nat(),
  what: fc.constantFrom('put', 'put', 'swap', 'remove', 'status', 'label', 'age'),
  pick: fc.nat(),
})
const steps = fc.array(fc.array(edit, { minLength: 1, maxLength: 4 }), {
  minLength: 3,
  maxLength: 12,
})
const LABELS = [{}, { team: 'blue' }, { team: 'red', app: 'orders' }]
const AGES = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']

function at<T>(list: readonly T[], pick: number): T {
  return list[pick % list.length] as T
}

/** Returns the object after the edit, or undefined if it was deleted. */
function edited(id: string, before: KubeObject | undefined, { what, pick }: Edit) {
  const variant = at(universe.get(id) ?? [], pick)
  const base = before ?? variant
  const with_ = (more: object) => ({ ...base, metadata: { ...base.metadata, ...more } })
  const generation = base.metadata.generation ?? 1
  switch (what) {
    case 'remove':
      return undefined
    case 'put':
      return { ...variant, metadata: { ...variant.metadata, generation: generation + 1 } }
    case 'swap': {
      const { spec, metadata, ...rest } = at(byKind.get(base.kind) ?? [], pick)
      const own = { ...base.metadata, generation: generation + 1 }
      return { ...rest, metadata: own, ...(spec === undefined ? {} : { spec }) } as KubeObject
    }
    case 'status': {
      const entry = [{ controllerName: CONTROLLER, conditions: [] }]
      return { ...base, status: { note: pick, parents: entry, ancestors: entry } }
    }
    case 'label':
      return with_({ labels: { ...variant.metadata.labels, ...at(LABELS, pick) } })
    case 'age':
      return with_({ creationTimestamp: at(AGES, pick) })
  }
}

function sorted(diagnostics: readonly Diagnostic[]): readonly string[] {
  return [...new Set(diagnostics.map((one) => canonicalJson(one)))].sort()
}

function titleOf({ kind, namespace, name }: ObjectStatus): string {
  return `${kind} ${namespace}/${name}`
}

describe('translation of successive Snapshots', () => {
  for (const selectors of [false, true]) {
    it(`comes to what it would be from scratch${selectors ? ', with selected namespaces' : ''}`, () => {
      const options: TranslateOptions = {
        controllerName: CONTROLLER,
        settings: defaultSettings(),
        ...(selectors
          ? { discoverySelectors: [{ matchLabels: { team: 'blue' }, matchExpressions: [] }] }
          : {}),
      }
      assertProperty(
        'incremental-translation',
        fc.property(fc.boolean(), steps, (isFull, all) => {
          const store = new SnapshotStore()
          const live = new Map<string, KubeObject>()
          const put = (id: string, after: KubeObject | undefined) => {
            const [kind = ''] = id.split(' ')
            const before = live.get(id)
            if (after !== undefined) {
              live.set(id, after)
              store.put(kind, after)
            } else if (before !== undefined) {
              live.delete(id)
              store.remove(kind, before)
            }
          }
          if (isFull) for (const [id, variants] of universe) put(id, variants[0])
          const translator = new Translator(options)
          const statuses = new Map<string, ObjectStatus>()
          let models = translator.translate(store.take()).models
          for (const status of translator.translate(store.take()).statuses()) {
            statuses.set(titleOf(status), status)
          }
          for (const batch of all) {
            for (const one of batch) {
              const id = at(ids, one.id)
              put(id, edited(id, live.get(id), one))
            }
            const made = translator.translate(store.take())
            const expected = translate(snapshotOf(live.values()), options)
            assert.deepEqual(plain(made.models), plain(expected.models))
            assert.deepEqual(made.statuses(), expected.statuses)
            assert.deepEqual(sorted(translator.diagnostics()), sorted(expected.diagnostics))
            // Equal parts must be the same objects, and different parts must be reported as
            // different.
            for (const [key, model] of made.models) {
              const before = models.get(key)
              if (canonicalJson(before) === canonicalJson(model)) assert.equal(before, model)
            }
            for (const status of made.touched) statuses.set(titleOf(status), status)
            for (const status of expected.statuses) {
              assert.deepEqual(statuses.get(titleOf(status)), status)
            }
            models = made.models
          }
        }),
        fuzz(0.05, 20),
      )
    })
  }
})

function plain(models: ReadonlyMap<string, unknown>): object {
  return Object.fromEntries(models)
}
