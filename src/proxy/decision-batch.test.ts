import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { type Batch, DecisionBatch } from './decision-batch.ts'

describe('decision records sent to the writing process', () => {
  it('are batched, and those that do not fit are counted', () => {
    const sent: Batch[] = []
    const own = new DecisionBatch((batch, done) => {
      sent.push(batch)
      done()
    })
    for (let i = 0; i < 2_500; i++) own.add(recordOf({ id: String(i) }))
    own.flush()
    assert.deepEqual(
      sent.map(({ records, dropped }) => [records.length, dropped]),
      [[2_000, 500]],
    )
  })

  it('wait while others are in flight, and none is lost at the end', async () => {
    const sent: Batch[] = []
    const waiting: (() => void)[] = []
    const own = new DecisionBatch((batch, done) => {
      sent.push(batch)
      waiting.push(done)
    })
    own.add(recordOf({ id: 'first' }))
    own.flush()
    own.add(recordOf({ id: 'second' }))
    const flushed = new Promise<void>((resolve) => own.flush(resolve))
    assert.equal(sent.length, 1)
    for (waiting.shift()?.(); sent.length < 2; ) await new Promise((next) => setTimeout(next, 5))
    waiting.shift()?.()
    await flushed
    assert.deepEqual(
      sent.flatMap(({ records }) => records.map(({ id }) => id)),
      ['first', 'second'],
    )
  })

  it('flush at once if there are none', async () => {
    const own = new DecisionBatch(() => assert.fail('there is nothing to send'))
    await new Promise<void>((resolve) => own.flush(resolve))
  })
})
