import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { modelOf, TestServices } from '../../test/program/models.ts'
import type { RemoteClock } from '../policies/jwt-authentication/remote.ts'
import { compileProgram } from './compile.ts'
import { closeKept, keptFigures, retiredKept } from './kept.ts'

/** A clock that keeps callbacks without running them, and constant randomness. */
function testClock() {
  const waiting = new Set<() => void>()
  const clock: RemoteClock = {
    now: () => 5_000,
    random: () => 0,
    after(_, run) {
      waiting.add(run)
      return () => void waiting.delete(run)
    },
  }
  return { clock, waiting }
}

const model = (issuer: string, cors = {}) =>
  modelOf({
    routes: [
      {
        policies: {
          jwtAuthentication: { issuer, jwks: { url: 'https://i.example/keys' } },
          ...cors,
        },
      },
    ],
  })

describe('state of policies', () => {
  it('is kept while its policy is unchanged, and closed when no Program uses it', async () => {
    const { clock, waiting } = testClock()
    let fetched = 0
    const fetch = async () => {
      fetched++
      return { kind: 'text', text: '{"keys":[]}', maxAge: undefined } as const
    }
    const services = Object.assign(new TestServices(), { policyDeps: { clock, fetch } })
    const first = compileProgram(model('a'), undefined, services)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(fetched, 1)
    assert.equal(waiting.size, 1, 'the next refresh')
    assert.deepEqual([...keptFigures(first).ages], [['a', 0]])

    const same = compileProgram(model('a', { cors: { allowOrigins: ['*'] } }), first, services)
    assert.equal(fetched, 1)
    assert.deepEqual(retiredKept(first, same), [])

    const other = compileProgram(model('b'), same, services)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(fetched, 2)
    assert.equal(waiting.size, 2)
    closeKept(retiredKept(same, other))
    assert.equal(waiting.size, 1, 'nobody asks the issuer of a policy that is gone')
    closeKept(retiredKept(other, undefined))
    assert.equal(waiting.size, 0)
  })
})
