import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, policies, programOf } from '../../test/program/models.ts'

const path = (value: string) => [{ path: { kind: 'prefix', value } }] as const

/** Routes with the same single rule, each from its own policy. */
const named = (name: string, rule: object) =>
  policies({ authorization: { rules: [rule] } }).map((policy) => ({ ...policy, policy: name }))

describe('routes with the same rule', () => {
  for (const rule of [
    { require: "request.method == 'PUT'" },
    { allow: "request.method == 'PUT'" },
    { deny: "request.method != 'PUT'" },
  ]) {
    it(`are told apart in what they decide: ${Object.keys(rule)[0]}`, async () => {
      const routes = ['a', 'b', 'c'].map((name) => ({
        name,
        matches: path(`/${name}`),
        policies: named(`policy-${name}`, rule),
      }))
      const program = programOf({ routes })
      for (const name of ['b', 'a', 'c']) {
        const { exchange } = await decide(program, { url: `/${name}` })
        const [decision] = exchange.decisions
        assert.equal(decision?.isAllowed, false)
        const reported = decision.rule ?? decision.nearest?.rule
        assert.equal(reported?.policy, `policy-${name}`)
        const { exchange: other } = await decide(program, { url: `/${name}`, method: 'PUT' })
        assert.deepEqual(other.decisions, [])
      }
    })
  }

  it('and another action decide independently', async () => {
    const text = "request.method == 'PUT'"
    const routes = [{ require: text }, { deny: text }].map((rule, at) => ({
      name: `r${at}`,
      matches: path(`/${at}`),
      policies: named(`policy-${at}`, rule),
    }))
    const program = programOf({ routes })
    const denied = async (url: string, method: string) =>
      (await decide(program, { url, method })).exchange.decisions.length
    assert.deepEqual(
      [await denied('/0', 'PUT'), await denied('/0', 'GET'), await denied('/1', 'PUT')],
      [0, 1, 1],
    )
    assert.equal(await denied('/1', 'GET'), 0)
  })
})
