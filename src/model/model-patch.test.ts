import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deserialize, serialize } from 'node:v8'
import fc from 'fast-check'
import type { Model } from './model.ts'
import { addedIn, patchBetween, patched } from './model-patch.ts'

const EMPTY: Model = { gateways: [], routes: [], tcpRoutes: [], backends: [], frontend: [] }
const thing = (name: string) => ({ name, text: 'x'.repeat(100) }) as never
const modelOf = (routes: readonly never[], more: Partial<Model> = {}): Model => ({
  ...EMPTY,
  routes,
  ...more,
})
const sent = <T>(value: T): T => deserialize(serialize(value)) as T

describe('patchBetween', () => {
  it('turns one Model into the other, in a process with a copy of the first', () => {
    const pool = Array.from({ length: 8 }, (_, n) => thing(`r${n}`))
    const list = fc.array(fc.constantFrom(...pool), { maxLength: 12 })
    const whole = fc.constantFrom(undefined, thing('a'), thing('b'))
    const model = fc
      .tuple(list, list, whole)
      .map(([routes, backends, llm]) =>
        modelOf(routes, { backends, ...(llm === undefined ? {} : { llm }) }),
      )
    fc.assert(
      fc.property(fc.array(model, { minLength: 1, maxLength: 8 }), (models) => {
        let [here, there]: [Model | undefined, Model | undefined] = [undefined, undefined]
        for (const next of models) {
          there = patched(there, sent(patchBetween(here, next)))
          here = next
          assert.deepEqual(there, next)
        }
      }),
    )
  })

  it('has one entry for one edit, however many other parts there are', () => {
    for (const count of [10, 10_000]) {
      const before = modelOf(Array.from({ length: count }, (_, n) => thing(`r${n}`)))
      const edited = before.routes.with(7, thing('edited'))
      const patch = patchBetween(before, { ...before, routes: edited })
      assert.equal(addedIn(patch).length, 1)
      assert.ok(serialize(patch).length < 1_000)
      const moved = { ...before, routes: [before.routes[9] as never, ...before.routes.slice(0, 9)] }
      assert.equal(addedIn(patchBetween(before, moved)).length, 0)
    }
  })

  it('keeps the identity of what did not change', () => {
    const before = modelOf([thing('a'), thing('b'), thing('c')])
    const copy = sent(before)
    const next = { ...before, routes: [thing('new'), ...before.routes.slice(1)] }
    const made = patched(copy, sent(patchBetween(before, next)))
    assert.equal(made.routes[1], copy.routes[1])
    assert.equal(made.routes[2], copy.routes[2])
    assert.equal(made.backends, copy.backends)
  })
})
