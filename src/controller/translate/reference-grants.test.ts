import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { KubeObject } from '../cluster/object.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { ClusterView } from './view.ts'

const namespace = fc.constantFrom('a', 'b', 'c')
const from = fc.record({
  group: fc.constantFrom('', 'gateway.networking.k8s.io'),
  kind: fc.constantFrom('HTTPRoute', 'Gateway'),
  namespace,
})
const to = fc.record({
  group: fc.constantFrom('', 'portcullis.dev'),
  kind: fc.constantFrom('Service', 'Secret'),
  name: fc.constantFrom('x', 'y'),
})
const grant = fc.record({
  namespace,
  from: fc.array(from, { minLength: 1, maxLength: 3 }),
  to: fc.array(fc.record({ ...fieldsOf(to) }, { requiredKeys: ['group', 'kind'] }), {
    minLength: 1,
    maxLength: 3,
  }),
})

/** The same arbitraries, so that `name` can be omitted. */
function fieldsOf(_: typeof to) {
  return {
    group: fc.constantFrom('', 'portcullis.dev'),
    kind: fc.constantFrom('Service', 'Secret'),
    name: fc.constantFrom('x', 'y'),
  }
}

describe('a ReferenceGrant', () => {
  it('allows what it lists, in its own namespace, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(grant, { maxLength: 4 }),
        from,
        to,
        namespace,
        (grants, who, what, where) => {
          const objects = grants.map(
            (one, index): KubeObject => ({
              apiVersion: 'gateway.networking.k8s.io/v1beta1',
              kind: 'ReferenceGrant',
              metadata: { name: `g${index}`, namespace: one.namespace },
              spec: { from: one.from, to: one.to },
            }),
          )
          const view = new ClusterView(undefined)
          view.update(snapshotOf(objects), [])
          // Applies each sentence of the API separately: every pair that some grant names.
          const spelled = new Set<string>()
          for (const one of grants) {
            for (const source of one.from) {
              for (const target of one.to) {
                for (const name of target.name === undefined ? ['x', 'y'] : [target.name]) {
                  spelled.add(
                    JSON.stringify([source, target.group, target.kind, one.namespace, name]),
                  )
                }
              }
            }
          }
          const asked = JSON.stringify([who, what.group, what.kind, where, what.name])
          const expected = who.namespace === where || spelled.has(asked)
          assert.equal(view.isGranted(who, { ...what, namespace: where }), expected)
          assert.deepEqual([...view.unreadable()], [])
        },
      ),
      { numRuns: 500, seed: 26 },
    )
  })
})
