import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { NextTurn, TurnWrites } from '../wire/turn-writes.ts'
import { AwaitedRequests } from './awaited-requests.ts'

/** With turns of the event loop that end on demand. */
function counted() {
  const ends: (() => void)[] = []
  const endTurn = () => {
    for (const end of ends.splice(0)) end()
  }
  const writes = new TurnWrites()
  const requests = new AwaitedRequests(new NextTurn(writes, (run) => ends.push(run)))
  let told = 0
  requests.onNone = () => told++
  const serve = (count: number) => {
    for (let served = 0; served < count; served++) {
      requests.began()
      requests.responded()
    }
  }
  return { requests, writes, endTurn, serve, told: () => told }
}

describe('pending requests', () => {
  it('report an idle moment after some responses, at the end of the turn', () => {
    const { endTurn, serve, told } = counted()
    serve(31)
    endTurn()
    endTurn()
    assert.equal(told(), 0)
    serve(5)
    assert.equal(told(), 0)
    endTurn()
    assert.equal(told(), 0, 'what came meanwhile may not have been read')
    endTurn()
    assert.equal(told(), 1)
    serve(31)
    endTurn()
    endTurn()
    assert.equal(told(), 1)
  })

  it('report none while a request is pending', () => {
    const { requests, endTurn, serve, told } = counted()
    serve(40)
    endTurn()
    requests.began()
    endTurn()
    assert.equal(told(), 0)
    requests.responded()
    endTurn()
    endTurn()
    assert.equal(told(), 1)
  })

  it('report no idle moment with a pending request, in any order of events', () => {
    const steps = fc.array(fc.constantFrom('begin', 'respond', 'turn', 'many' as const))
    fc.assert(
      fc.property(steps, (taken) => {
        const { requests, endTurn, serve } = counted()
        let awaited = 0
        let responses = 0
        requests.onNone = () => {
          assert.equal(awaited, 0)
          assert.ok(responses >= 32)
          responses = 0
        }
        for (const step of taken) {
          if (step === 'begin') {
            awaited++
            requests.began()
          } else if (step === 'respond' && awaited > 0) {
            awaited--
            responses++
            requests.responded()
          } else if (step === 'many') {
            responses += 40
            serve(40)
          } else if (step === 'turn') endTurn()
          assert.equal(requests.count, awaited)
        }
      }),
    )
  })
})
