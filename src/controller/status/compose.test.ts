import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { KubeObject } from '../cluster/object.ts'
import {
  CONDITION_TYPES,
  type Condition,
  type ObjectStatus,
  type RefStatus,
} from '../translate/conditions.ts'
import { composeStatus } from './compose.ts'

const OURS = 'portcullis.dev/controller'
const EARLY = '2026-01-01T00:00:00Z'
const LATE = '2026-02-01T00:00:00Z'

const accepted: Condition = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }
const rejected: Condition = { ...accepted, status: 'False', reason: 'Invalid', message: 'why' }

function object(status?: unknown): KubeObject {
  return { apiVersion: 'v1', kind: 'X', metadata: { name: 'a' }, status }
}

function route(...conditions: readonly Condition[]): ObjectStatus {
  const ref = { group: 'g', kind: 'Gateway', name: 'edge' }
  return { kind: 'X', namespace: '', name: 'a', generation: 3, parents: [{ ref, conditions }] }
}

type Parents = { readonly parents: readonly Record<string, unknown>[] }

describe('composing a status', () => {
  it('an unchanged status is not written again', () => {
    const first = composeStatus(object(), route(accepted), OURS, EARLY)
    assert.equal(composeStatus(object(first), route(accepted), OURS, LATE), undefined)
  })

  it('the time of a condition is that of its last change of status, not of its message', () => {
    const first = composeStatus(object(), route(accepted), OURS, EARLY)
    const timeOf = (status: unknown) => {
      const [parent] = (status as Parents).parents
      const conditions = (parent?.['conditions'] ?? []) as { readonly lastTransitionTime: string }[]
      return conditions[0]?.lastTransitionTime
    }
    const reworded = composeStatus(object(first), route({ ...accepted, message: 'x' }), OURS, LATE)
    assert.equal(timeOf(reworded), EARLY)
    const changed = composeStatus(object(first), route(rejected), OURS, LATE)
    assert.equal(timeOf(changed), LATE)
  })

  it('a new generation is written even if nothing else changed', () => {
    const first = composeStatus(object(), route(accepted), OURS, EARLY)
    const next = { ...route(accepted), generation: 4 }
    assert.notEqual(composeStatus(object(first), next, OURS, LATE), undefined)
  })

  it('a provisional condition replaces only one of an older generation', () => {
    const first = composeStatus(object(), route(accepted), OURS, EARLY)
    const provisional = { ...rejected, isProvisional: true }
    assert.equal(composeStatus(object(first), route(provisional), OURS, LATE), undefined)
    const next = composeStatus(object(first), { ...route(provisional), generation: 4 }, OURS, LATE)
    const written = composeStatus(object(first), { ...route(rejected), generation: 4 }, OURS, LATE)
    assert.deepEqual(next, written)
  })

  it('entries of other controllers are kept', () => {
    const other = { parentRef: { name: 'other' }, controllerName: 'example.com/other' }
    const made = composeStatus(object({ parents: [other] }), route(accepted), OURS, EARLY)
    assert.deepEqual((made as Parents).parents[0], other)
    assert.equal((made as Parents).parents.length, 2)
  })

  it('our entries that no longer apply are removed', () => {
    const first = composeStatus(object(), route(accepted), OURS, EARLY)
    const none = { ...route(accepted), parents: [] }
    assert.deepEqual(composeStatus(object(first), none, OURS, LATE), { parents: [] })
  })

  it('foreign conditions of a Gateway are kept, and our obsolete ones removed', () => {
    const foreign = { type: 'example.com/Nice', status: 'True', reason: 'X', message: '' }
    const old = { type: 'ResolvedRefs', status: 'False', reason: 'X', message: '' }
    const wanted = { ...route(), parents: undefined, conditions: [accepted] } as never
    const made = composeStatus(object({ conditions: [foreign, old] }), wanted, OURS, EARLY)
    const types = (made as { conditions: Condition[] }).conditions.map(({ type }) => type)
    assert.deepEqual(types, ['example.com/Nice', 'Accepted'])
  })

  it('so are those of listeners', () => {
    const foreign = { type: 'example.com/Nice', status: 'True', reason: 'X', message: '' }
    const listeners = ['a', 'b'].map((name) => ({ name, conditions: [accepted] }))
    const wanted = { ...route(), parents: undefined, listeners } as never
    const gone = { name: 'gone', conditions: [] }
    const live = { listeners: [gone, { name: 'b', conditions: [foreign] }] }
    const made = composeStatus(object(live), wanted, OURS, EARLY) as {
      listeners: { name: string; conditions: Condition[] }[]
    }
    assert.deepEqual(
      made.listeners.map(({ name, conditions }) => [name, ...conditions.map(({ type }) => type)]),
      [
        ['b', 'example.com/Nice', 'Accepted'],
        ['a', 'Accepted'],
      ],
    )
    assert.deepEqual(made.listeners[0]?.conditions[0], foreign)
  })

  it('features of a class are replaced as a whole', () => {
    const features = (...names: readonly string[]) => names.map((name) => ({ name }))
    const wanted = {
      ...route(),
      parents: undefined,
      supportedFeatures: features('A', 'C'),
    } as never
    const made = composeStatus(
      object({ supportedFeatures: features('A', 'B') }),
      wanted,
      OURS,
      LATE,
    )
    assert.deepEqual(made, { supportedFeatures: features('A', 'C') })
    assert.equal(composeStatus(object(made), wanted, OURS, LATE), undefined)
  })
})

describe('two controllers with entries in one status', () => {
  const THEIRS = 'example.com/other'
  const condition: fc.Arbitrary<Condition> = fc.record({
    type: fc.constantFrom(...CONDITION_TYPES),
    status: fc.constantFrom('True', 'False', 'Unknown'),
    reason: fc.constantFrom('A', 'B'),
    message: fc.constantFrom('', 'why'),
  })
  const conditions = fc.uniqueArray(condition, { selector: ({ type }) => type })
  const ref = fc.constantFrom('a', 'b', 'c', 'd').map((name) => ({ kind: 'Gateway', name }))
  const entry = fc.record({ ref, conditions })
  const entries = fc.uniqueArray(entry, { selector: (one) => one.ref.name })
  const member = fc.constantFrom<'parents' | 'ancestors'>('parents', 'ancestors')
  /** Entries and conditions of third parties, with members that no controller knows. */
  const foreign = fc.record(
    { controllerName: fc.constantFrom('x', 'y'), parentRef: ref, ancestorRef: ref, own: fc.json() },
    { requiredKeys: ['controllerName'] },
  )
  const wantedOf = (member: 'parents' | 'ancestors', all: readonly RefStatus[]): ObjectStatus => {
    const { parents, ...rest } = route()
    return { ...rest, [member]: all }
  }

  it('leave it alone once each has written its own', () => {
    const all = fc.tuple(member, entries, entries, fc.array(foreign, { maxLength: 3 }))
    fc.assert(
      fc.property(all, ([member, ours, theirs, foreign]) => {
        let live: Record<string, unknown> = { [member]: foreign }
        const write = (wanted: readonly RefStatus[], name: string, at: string) => {
          const made = composeStatus(object(live), wantedOf(member, wanted), name, at)
          live = { ...live, ...made }
          return made
        }
        write(ours, OURS, EARLY)
        write(theirs, THEIRS, EARLY)
        const settled = JSON.stringify(live)
        assert.equal(write(ours, OURS, LATE), undefined)
        assert.equal(write(theirs, THEIRS, LATE), undefined)
        const found = live[member] as readonly Record<string, unknown>[]
        const by = (name: string) => found.filter((one) => one['controllerName'] === name)
        assert.deepEqual([by(OURS).length, by(THEIRS).length], [ours.length, theirs.length])
        const kept = found.filter((one) => ![OURS, THEIRS].includes(one['controllerName'] as never))
        assert.equal(JSON.stringify(kept), JSON.stringify(foreign))
        // In any order: another controller may sort the entries.
        live = { [member]: [...found].reverse() }
        assert.equal(write(ours, OURS, LATE), undefined)
        // What one of them changes touches nothing of the others.
        live = JSON.parse(settled)
        const before = JSON.stringify(found.filter((one) => one['controllerName'] !== OURS))
        write(ours.slice(1), OURS, LATE)
        const rest = live[member] as readonly Record<string, unknown>[]
        assert.equal(JSON.stringify(rest.filter((one) => one['controllerName'] !== OURS)), before)
      }),
    )
  })

  it('never both claim a policy that reaches nothing', () => {
    const claim = fc.record({ isClaim: fc.boolean() })
    const turns = fc.array(fc.constantFrom(OURS, THEIRS), { maxLength: 6 })
    const given = fc.record({ ours: claim, theirs: claim, turns, stale: fc.boolean() })
    fc.assert(
      fc.property(given, ({ ours, theirs, turns, stale }) => {
        const wantedBy = (name: string): ObjectStatus => {
          const { isClaim } = name === OURS ? ours : theirs
          const reason = isClaim ? 'TargetNotFound' : 'Attached'
          const status = isClaim ? 'False' : 'True'
          const attached: Condition = { type: 'Attached', status, reason, message: '' }
          const all = [{ ref: { kind: 'Gateway', name: 'a' }, conditions: [attached] }]
          return { ...wantedOf('ancestors', all), ...(isClaim ? { isClaim } : {}) }
        }
        let live: Record<string, unknown> = {}
        // Both may have written at once, before either saw the entry of the other.
        if (stale) {
          const both = [OURS, THEIRS].map((name) =>
            composeStatus(object(), wantedBy(name), name, EARLY),
          )
          const lists = both.map((one) => (one?.['ancestors'] ?? []) as readonly unknown[])
          live = { ancestors: lists.flat() }
        }
        const write = (name: string) => {
          const made = composeStatus(object(live), wantedBy(name), name, EARLY)
          live = { ...live, ...made }
          return made
        }
        for (const name of [...turns, OURS, THEIRS, OURS, THEIRS]) write(name)
        assert.equal(write(OURS), undefined, 'at rest')
        assert.equal(write(THEIRS), undefined, 'at rest')
        const names = (live['ancestors'] as readonly Record<string, unknown>[]).map(
          (one) => one['controllerName'],
        )
        const claims = [ours, theirs].filter(({ isClaim }) => isClaim).length
        assert.equal(names.length, claims === 0 ? 2 : 1)
        if (claims === 1) assert.deepEqual(names, [ours.isClaim ? THEIRS : OURS])
      }),
    )
  })

  it('keep the conditions of each other on an object and its listeners', () => {
    const listener = fc.record({ name: fc.constantFrom('a', 'b', 'c'), conditions })
    const listeners = fc.uniqueArray(listener, { selector: ({ name }) => name })
    const other = fc.record({ type: fc.constantFrom('x/A', 'x/B'), own: fc.json() })
    const others = fc.uniqueArray(other, { selector: ({ type }) => type })
    const all = fc.tuple(conditions, listeners, others, fc.boolean())
    fc.assert(
      fc.property(all, ([conditions, listeners, others, isFirst]) => {
        const { parents, ...rest } = route()
        const wanted = { ...rest, conditions, listeners } as unknown as ObjectStatus
        let live: Record<string, unknown> = {}
        const write = (at: string) => {
          const made = composeStatus(object(live), wanted, OURS, at)
          live = { ...live, ...made }
          return made
        }
        write(EARLY)
        const add = (one: Record<string, unknown>) => {
          const own = (one['conditions'] ?? []) as readonly unknown[]
          return { ...one, conditions: isFirst ? [...others, ...own] : [...own, ...others] }
        }
        const named = (live['listeners'] ?? []) as readonly Record<string, unknown>[]
        live = { ...add(live), listeners: named.map(add) }
        const text = JSON.stringify(live)
        assert.equal(write(LATE), undefined)
        assert.equal(JSON.stringify(live), text)
      }),
    )
  })
})
