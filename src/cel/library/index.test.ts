import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LIBRARIES } from './index.ts'

describe('the libraries', () => {
  it('have names of their own', () => {
    const names = LIBRARIES.map((library) => library.name)
    assert.deepEqual([...new Set(names)], names)
  })

  it('declare no signature twice', () => {
    const seen = new Set<string>()
    for (const { functions } of LIBRARIES) {
      for (const { name, overloads } of functions) {
        for (const { receiver, params, variadic } of overloads) {
          const signature = JSON.stringify([name, receiver, params, variadic])
          assert.ok(!seen.has(signature), signature)
          seen.add(signature)
        }
      }
    }
  })

  it('answer or fail for any values, and never throw', () => {
    const values = [null, true, 0, -1, 1.5, 2n ** 62n, 'a', '\ud800', new Uint8Array(3), [1], {}]
    for (const { functions } of LIBRARIES) {
      for (const { overloads } of functions) {
        for (const { params, call } of overloads) {
          for (const [i] of values.entries()) {
            const args = params.map((_, at) => values[(i + at) % values.length])
            const fitting = params.map((type, at) => SAMPLES[type.kind] ?? args[at])
            call(...fitting)
          }
        }
      }
    }
  })
})

const SAMPLES: Record<string, unknown> = { string: '(é%', int: -(2n ** 63n), bytes: new Uint8Array(9) }
