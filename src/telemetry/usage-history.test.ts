import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { llmCost, llmRequests, llmTokens } from './definitions/llm.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { UsageHistory, usageBySteps } from './usage-history.ts'

const AT = Date.UTC(2026, 10, 16, 12)
const MINUTE = 60_000

function call(metrics: Metrics, model: string, tokens: number, provider = 'openai'): void {
  const labels = { route: 'r', provider, model }
  metrics.counter(llmRequests).of(labels).at('chat', 'success').inc()
  metrics.counter(llmTokens).of(labels).at('input', 'none').inc(tokens)
  metrics.counter(llmTokens).of(labels).at('input', 'read').inc(1)
  metrics
    .counter(llmTokens)
    .of(labels)
    .at('output', 'none')
    .inc(2 * tokens)
  metrics.counter(llmCost).of(labels).at('input').inc(0.25)
  metrics.counter(llmCost).of(labels).at('output').inc(0.5)
}

describe('usage over time', () => {
  it('is the growth of counters, in the minute of the sample', () => {
    const metrics = createMetrics()
    const history = new UsageHistory()
    call(metrics, 'a', 10)
    history.sample(metrics.read(), AT)
    call(metrics, 'a', 5)
    call(metrics, 'b', 1)
    history.sample(metrics.read(), AT + 20_000)
    history.sample(metrics.read(), AT + 40_000)
    call(metrics, 'a', 7)
    history.sample(metrics.read(), AT + MINUTE)
    const row = (time: number, model: string, requests: number, tokens: number) => ({
      ...{ time, provider: 'openai', model, requests },
      ...{ inputTokens: tokens + requests, outputTokens: 2 * tokens, cost: 0.75 * requests },
    })
    assert.deepEqual(history.since(0), [
      row(AT, 'a', 2, 15),
      row(AT, 'b', 1, 1),
      row(AT + MINUTE, 'a', 1, 7),
    ])
    assert.deepEqual(history.since(AT + 1), [row(AT + MINUTE, 'a', 1, 7)])
    assert.deepEqual(usageBySteps(history.since(0), 60 * MINUTE), [
      row(AT, 'a', 3, 22),
      row(AT, 'b', 1, 1),
    ])
  })

  it('counts nothing if counters decrease, as after a worker dies', () => {
    const [both, other] = [createMetrics(), createMetrics()]
    const history = new UsageHistory()
    for (const metrics of [both, both, other]) call(metrics, 'a', 10)
    history.sample(both.read(), AT)
    history.sample(other.read(), AT + MINUTE)
    call(other, 'a', 10)
    history.sample(other.read(), AT + 2 * MINUTE)
    const rows = history.since(0).map(({ time, requests }) => [(time - AT) / MINUTE, requests])
    assert.deepEqual(rows, [
      [0, 2],
      [2, 1],
    ])
  })

  it('is written until everything is written', () => {
    const metrics = createMetrics()
    const history = new UsageHistory()
    call(metrics, 'a', 1)
    call(metrics, 'b', 1)
    history.sample(metrics.read(), AT)
    const first = history.unwritten(10)
    assert.equal(first.rows.length, 2)
    // One of them grows during the write.
    call(metrics, 'b', 1)
    history.sample(metrics.read(), AT + 1)
    first.written()
    assert.deepEqual(
      history.unwritten(10).rows.map(({ model, requests }) => [model, requests]),
      [['b', 2]],
    )
    history.unwritten(10).written()
    assert.deepEqual(history.unwritten(10).rows, [])
  })

  it('drops what is older than a day, written or not', () => {
    const metrics = createMetrics()
    const history = new UsageHistory()
    call(metrics, 'a', 1)
    history.sample(metrics.read(), AT)
    call(metrics, 'a', 1)
    history.sample(metrics.read(), AT + 25 * 60 * MINUTE)
    assert.equal(history.since(0).length, 1)
    assert.equal(history.unwritten(10).rows.length, 1)
  })

  it('loses nothing, whenever it is sampled and however it is read', () => {
    const event = fc.record({
      model: fc.constantFrom('a', 'b', 'c'),
      tokens: fc.nat(100),
      later: fc.nat(5 * MINUTE),
      isSampled: fc.boolean(),
    })
    const runs = fc.property(
      fc.array(event),
      fc.integer({ min: 1, max: 90 }),
      (events, minutes) => {
        const metrics = createMetrics()
        const history = new UsageHistory()
        let now = AT
        let tokens = 0
        for (const one of events) {
          now += one.later
          tokens += one.tokens
          call(metrics, one.model, one.tokens)
          if (one.isSampled) history.sample(metrics.read(), now)
        }
        history.sample(metrics.read(), now)
        const points = usageBySteps(history.since(0), minutes * MINUTE)
        const sum = (of: (point: (typeof points)[number]) => number) =>
          points.reduce((all, point) => all + of(point), 0)
        assert.equal(
          sum(({ requests }) => requests),
          events.length,
        )
        assert.equal(
          sum(({ outputTokens }) => outputTokens),
          2 * tokens,
        )
        assert.ok(points.every(({ time }) => time % (minutes * MINUTE) === 0))
        assert.deepEqual(
          points,
          points.toSorted((a, b) => a.time - b.time),
        )
      },
    )
    fc.assert(runs, { numRuns: 100 })
  })
})
