import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import * as z from 'zod'
import { type KubeObject, keyOf } from '../cluster/object.ts'
import { changesBetween, EMPTY_SNAPSHOT, SnapshotStore } from '../cluster/snapshot.ts'
import { Cell } from './cells.ts'
import { ClusterView, fieldOf } from './view.ts'

const KIND = 'Thing'
const LABEL = 'team'
const schema = z.object({ spec: z.object({ size: z.number() }) })
const NAMESPACES = ['a', 'b']
const NAMES = ['x', 'y', 'z']
const TEAMS = ['red', 'blue']

/** One object after an edit; `size` is not a number: it cannot be read; undefined: it is gone. */
interface Edit {
  readonly namespace: string
  readonly name: string
  readonly thing:
    | { readonly size: number | string; readonly age: number; readonly team: string | undefined }
    | undefined
}

const edit: fc.Arbitrary<Edit> = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.constantFrom(...NAMES),
  thing: fc.option(
    fc.record({
      size: fc.constantFrom<number | string>(1, 2, 'big'),
      age: fc.nat(2),
      team: fc.constantFrom(undefined, ...TEAMS),
    }),
    { nil: undefined },
  ),
})

function objectOf({ namespace, name, thing }: Edit): KubeObject | undefined {
  if (thing === undefined) return undefined
  const creationTimestamp = new Date(thing.age).toISOString()
  const labels = thing.team === undefined ? {} : { [LABEL]: thing.team }
  const metadata = { namespace, name, creationTimestamp, labels }
  return { apiVersion: 'v1', kind: KIND, metadata, spec: { size: thing.size } }
}

/** Many objects at once are sorted in another way than a few. */
const MANY = Array.from({ length: 40 }, (_, at): Edit => {
  const thing = { size: at, age: at % 3, team: TEAMS[at % 3] }
  return { namespace: NAMESPACES[at % 2] as string, name: `many-${at}`, thing }
})

type Query = (view: ClusterView, expected: readonly Edit[]) => readonly [unknown, unknown]
const titles = (all: readonly { readonly key: string; readonly value: unknown }[]) =>
  all.map(({ key, value }) => `${key} ${JSON.stringify(value)}`)
const title = ({ namespace, name, thing }: Edit) =>
  `${namespace}/${name} ${JSON.stringify({ spec: { size: thing?.size } })}`
const isReadable = ({ thing }: Edit) => typeof thing?.size === 'number'

/** What a view returns for each query, and what a plain list in the order of age does. */
const QUERIES: Readonly<Record<string, Query>> = {
  all: (view, list) => [titles(view.all(KIND, schema)), list.filter(isReadable).map(title)],
  ...Object.fromEntries(
    NAMESPACES.flatMap((where): readonly (readonly [string, Query])[] => {
      const own = (list: readonly Edit[]) => list.filter(({ namespace }) => namespace === where)
      const readable = (list: readonly Edit[]) => own(list).filter(isReadable)
      const of = (list: readonly Edit[], team: string) =>
        readable(list).filter(({ thing }) => thing?.team === team)
      return [
        [
          `within ${where}`,
          (view, list) => [titles(view.within(KIND, schema, where)), readable(list).map(title)],
        ],
        [
          `labelled ${where}`,
          (view, list) => {
            const selector = { matchLabels: { [LABEL]: 'red' }, matchExpressions: [] }
            const names = of(list, 'red').map(({ name }) => name)
            return [view.labelled(KIND, schema, where, selector), names]
          },
        ],
        ...TEAMS.map((team): readonly [string, Query] => [
          `by label ${where} ${team}`,
          (view, list) => [
            titles(view.byLabel(KIND, schema, LABEL, where, team)),
            of(list, team).map(title).sort(),
          ],
        ]),
        ...NAMES.map((name): readonly [string, Query] => [
          `one ${where}/${name}`,
          (view, list) => {
            const edit = own(list).find((one) => one.name === name)
            const read = view.get(KIND, schema, where, name)
            return [
              [read && titles([read]), view.has(KIND, schema, where, name)],
              edit !== undefined && isReadable(edit) ? [[title(edit)], true] : [undefined, false],
            ]
          },
        ]),
      ]
    }),
  ),
}

describe('a view of a cluster', () => {
  for (const visible of [undefined, new Set(['b'])]) {
    it(`computes each query again if its result may have changed, and only then: ${visible ? 'one namespace' : 'all'}`, () => {
      const batches = fc.array(
        fc.oneof(fc.array(edit, { minLength: 1, maxLength: 4 }), fc.constant(MANY)),
        { maxLength: 6 },
      )
      fc.assert(
        fc.property(batches, fc.subarray(Object.keys(QUERIES)), (all, early) => {
          const view = new ClusterView(visible)
          const store = new SnapshotStore()
          const live = new Map<string, Edit>()
          let taken = EMPTY_SNAPSHOT
          const plain = () =>
            [...live.values()]
              .filter(({ namespace }) => visible?.has(namespace) !== false)
              .sort((a, b) => {
                const rank = ({ thing, namespace, name }: Edit) =>
                  `${thing?.age} ${namespace}/${name}`
                return rank(a) < rank(b) ? -1 : 1
              })
          const cells = new Map<string, Cell<string>>()
          const counts = new Map<string, number>()
          const ask = (name: string) => {
            const query = QUERIES[name] as Query
            const compute = () => {
              counts.set(name, (counts.get(name) ?? 0) + 1)
              return JSON.stringify(query(view, [])[0])
            }
            const cell = cells.get(name) ?? new Cell(view.cells, compute)
            cells.set(name, cell)
            assert.equal(cell.get(), JSON.stringify(query(view, plain())[1]), name)
          }
          // Some queries are made from the beginning, the others only at the end.
          for (const name of early) ask(name)
          for (const batch of all) {
            for (const one of batch) {
              const object = objectOf(one)
              const key = `${one.namespace}/${one.name}`
              if (object !== undefined) store.put(KIND, object)
              else if (live.has(key)) {
                store.remove(KIND, objectOf(live.get(key) as Edit) as KubeObject)
              }
              if (one.thing === undefined) live.delete(key)
              else live.set(key, one)
            }
            const next = store.take()
            view.update(next, changesBetween(taken, next))
            taken = next
            for (const name of early) ask(name)
          }
          for (const name of Object.keys(QUERIES)) ask(name)
          const computed = [...counts]
          for (const name of Object.keys(QUERIES)) ask(name)
          assert.deepEqual([...counts], computed, 'nothing changed')
          const unreadable = plain().filter((one) => !isReadable(one))
          assert.deepEqual(
            [...view.unreadable()]
              .map(({ origin }) => origin.kind === 'object' && origin.object)
              .sort(),
            unreadable.map(({ namespace, name }) => `${KIND} ${namespace}/${name}`).sort(),
          )
        }),
        { numRuns: 60, seed: 26 },
      )
    })
  }

  it('recomputes only what reads an object that changed', () => {
    const view = new ClusterView(undefined)
    const store = new SnapshotStore()
    let taken = EMPTY_SNAPSHOT
    const put = (...edits: readonly Edit[]) => {
      for (const one of edits) store.put(KIND, objectOf(one) as KubeObject)
      const next = store.take()
      view.update(next, changesBetween(taken, next))
      taken = next
    }
    const thing = (size: number, team?: string) => ({ size, age: 0, team })
    put({ namespace: 'a', name: 'x', thing: thing(1, 'red') })
    put({ namespace: 'b', name: 'x', thing: thing(1, 'red') })
    const counts = new Map<string, number>()
    const cells = Object.entries(QUERIES).map(([name, query]) => {
      const compute = () => {
        counts.set(name, (counts.get(name) ?? 0) + 1)
        return JSON.stringify(query(view, [])[0])
      }
      return new Cell(view.cells, compute)
    })
    const recomputed = () => {
      counts.clear()
      for (const cell of cells) cell.get()
      return [...counts.keys()].sort()
    }
    assert.equal(recomputed().length, cells.length)
    put({ namespace: 'a', name: 'x', thing: thing(2, 'red') })
    assert.deepEqual(recomputed(), ['all', 'by label a red', 'one a/x', 'within a'])
    put({ namespace: 'a', name: 'x', thing: thing(2, 'blue') })
    const places = ['by label a blue', 'by label a red', 'labelled a', 'one a/x', 'within a']
    assert.deepEqual(recomputed(), ['all', ...places])
    put({ namespace: 'b', name: 'z', thing: thing(3) })
    assert.deepEqual(recomputed(), ['all', 'labelled b', 'one b/z', 'within b'])
  })

  it('has the labels of a namespace, and the entries of Secrets and ConfigMaps', () => {
    const view = new ClusterView(undefined)
    const store = new SnapshotStore()
    const object = (kind: string, name: string, parts: object, metadata = {}) =>
      store.put(kind, {
        ...{ apiVersion: 'v1', kind, ...parts },
        metadata: { name, ...(kind === 'Namespace' ? {} : { namespace: 'a' }), ...metadata },
      })
    object('Namespace', 'a', {}, { labels: { team: 'red' } })
    const encoded = { both: Buffer.from('encoded').toString('base64'), only: 'w7w=' }
    object('Secret', 's', { data: encoded, stringData: { both: 'plain' } })
    object('ConfigMap', 'c', { data: { key: 'value' } })
    view.update(store.take(), [])
    const own = { 'kubernetes.io/metadata.name': 'a', team: 'red' }
    assert.deepEqual(view.labelsOf('a'), own)
    assert.deepEqual(view.labelsOf('b'), { 'kubernetes.io/metadata.name': 'b' })
    assert.equal(view.secretEntry('a', 's', 'both'), 'plain')
    assert.equal(view.secretEntry('a', 's', 'only'), 'ü')
    assert.equal(view.secretEntry('a', 's', 'other'), undefined)
    assert.equal(view.secretEntries('b', 's'), undefined)
    assert.deepEqual([...(view.configEntries('a', 'c') ?? [])], [['key', 'value']])
    assert.equal(view.configEntries('a', 'd'), undefined)
    assert.equal(view.live('Secret', 'a/s')?.kind, 'Secret')
  })

  it('names the objects that it assumes to exist, once', () => {
    const view = new ClusterView(undefined, true)
    for (const key of ['a/x', 'a/y', 'a/x']) view.assume('Service', key)
    assert.deepEqual(
      [...view.assumed].map(({ code, severity, message }) => `${code} ${severity} ${message}`),
      ['a/x', 'a/y'].map(
        (key) => `PC0711 info Service ${key} is not in the manifests; it is assumed to exist`,
      ),
    )
  })

  it('writes places as users do', () => {
    for (const [path, expected] of [
      [[], ''],
      [['spec'], 'spec'],
      [['spec', 'rules', 0, 'matches', 12], 'spec.rules[0].matches[12]'],
      [[3, 'x'], '[3].x'],
    ] as const) {
      assert.equal(fieldOf(path), expected)
    }
    assert.equal(keyOf({ name: 'x' }), 'x')
  })
})
