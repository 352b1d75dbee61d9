import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Model } from '../../model/model.ts'
import { reconcile } from '../../model/reconcile.ts'
import { runToCompletion } from '../../model/steps.ts'
import { loadText } from '../../sources/file/load.ts'
import { suspectsOf } from './suspect-rules.ts'

function modelOf(count: number, rules: Readonly<Record<number, string>>): Model {
  const routes = Array.from({ length: count }, (_, n) => ({
    name: `r${n}`,
    gateways: ['default'],
    matches: [{ path: { pathPrefix: `/r${n}` } }],
    policies: { authorization: { rules: [{ allow: rules[n] ?? `request.path == '/r${n}'` }] } },
    backends: [{ host: '127.0.0.1:80' }],
  }))
  // Origins are lines and columns. In this format, an edit moves nothing else.
  const text = JSON.stringify({ gateways: { default: { port: 8080 } }, routes }, null, 1)
  const { value, diagnostics } = loadText(text, 'x.yaml', { environment: {} }).result
  assert.ok(value, JSON.stringify(diagnostics))
  return value
}

function look(model: Model, before?: Model) {
  const steps = suspectsOf(model, before)
  for (let count = 0; ; count++) {
    const { done, value } = steps.next()
    if (done === true) return { count, routes: value?.model.routes.map(({ name }) => name) }
  }
}

describe('suspectsOf', () => {
  it('rechecks the route that changed, even if another one is suspect', () => {
    for (const size of [20, 300]) {
      const bad = { 7: "jwt.sub == 'alice'" }
      let before = modelOf(size, bad)
      assert.deepEqual(look(before), { count: size, routes: ['r7'] })
      for (const [rules, routes] of [
        [{ ...bad, 3: "request.path == '/other'" }, ['r7']],
        [{ ...bad, 3: "jwt.sub == 'bob'" }, ['r3', 'r7']],
        [{ 3: "jwt.sub == 'bob'" }, ['r3']],
        [{ 3: "request.path == '/other'" }, undefined],
        [bad, ['r7']],
      ] as const) {
        const next = runToCompletion(reconcile(before, modelOf(size, rules)))
        const found = look(next, before)
        assert.deepEqual(found.routes, routes)
        assert.ok(found.count <= 2, `${found.count} routes were looked at`)
        before = next
      }
    }
  })

  it('rechecks everything when it returns to an earlier Model', () => {
    const before = modelOf(20, {})
    look(before)
    const next = modelOf(20, { 5: "jwt.sub == 'alice'" })
    const made = runToCompletion(reconcile(before, next))
    assert.deepEqual(look(made, before), { count: 1, routes: ['r5'] })
    assert.deepEqual(look(made, before), { count: 20, routes: ['r5'] })
  })
})
