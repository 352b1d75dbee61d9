import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import { reply } from '../exchange/reply.ts'
import { runSteps, type Step } from '../exchange/step.ts'
import { linkSteps } from './link.ts'

// The behavior of each step: continues, waits and continues, responds, waits and responds.
const KINDS = ['on', 'wait', 'respond', 'late'] as const

function stepsOf(kinds: readonly string[], ran: number[]): readonly Step[] {
  return kinds.map((kind, index): Step => {
    const response = reply(200, 'direct-response', String(index))
    return () => {
      ran.push(index)
      if (kind === 'on') return undefined
      if (kind === 'respond') return response
      return Promise.resolve(kind === 'late' ? response : undefined)
    }
  })
}

describe('linked steps behave as a loop over them', () => {
  for (const length of [0, 1, 2, 3, 4, 5, 6, 9]) {
    it(`${length} steps, of which any one or two are not plain`, async () => {
      for (const kind of KINDS) {
        for (let at = 0; at <= length; at++) {
          const kinds = Array.from({ length }, (_, i) => (i === at ? kind : 'on'))
          if (at + 1 < length) kinds[at + 1] = 'wait'
          const [linked, looped]: [number[], number[]] = [[], []]
          const ours = linkSteps(stepsOf(kinds, linked))(exchangeOf())
          const plain = runSteps(stepsOf(kinds, looped), exchangeOf())
          assert.equal(ours instanceof Promise, plain instanceof Promise)
          assert.deepEqual((await ours)?.body, (await plain)?.body)
          assert.deepEqual(linked, looped)
        }
      }
    })
  }
})
