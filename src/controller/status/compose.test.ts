import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubeObject } from '../cluster/object.ts'
import type { Condition, ObjectStatus } from '../translate/conditions.ts'
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
    assert.deepEqual(types, ['Accepted', 'example.com/Nice'])
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
