import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { randomHex } from './random.ts'
import { createTracer, isWithin, type Sampling, type Span } from './trace.ts'

const PARENT = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  flags: 3,
} as const

function tracing(sampling: Partial<Sampling> = {}) {
  const spans: Span[] = []
  let now = 1_000_000
  const tracer = createTracer({
    sampling: { ratio: 1, parentRatio: 1, ...sampling },
    export: (span) => spans.push(span),
    clock: () => (now += 10),
  })
  return { tracer, spans }
}

describe('trace sampling', () => {
  for (const [name, sampling, parent, wish, expected] of [
    ['a new one, by ratio', { ratio: 1 }, undefined, undefined, true],
    ['a new one, never', { ratio: 0 }, undefined, undefined, false],
    ['a new one, as the caller says', { ratio: 0 }, undefined, true, true],
    ['sampled by the client', { ratio: 0 }, PARENT, undefined, true],
    ['sampled by the client, in vain', { parentRatio: 0 }, PARENT, undefined, false],
    ['not sampled by the client', { ratio: 1 }, { ...PARENT, flags: 2 }, undefined, false],
    ['not sampled by the client, but here', { ratio: 0 }, { ...PARENT, flags: 0 }, true, true],
  ] as const) {
    it(`${name}: ${expected}`, () => {
      const joined = tracing(sampling).tracer.join(parent, wish)
      assert.equal(joined.isSampled, expected)
      assert.equal((joined.flags & 1) === 1, expected)
      if (parent !== undefined) assert.equal(joined.traceId, parent.traceId)
    })
  }

  it('is stable per trace, and a larger ratio includes what a smaller one includes', () => {
    const ids = Array.from({ length: 4000 }, () => randomHex(16))
    for (const [small, large] of [
      [0.01, 0.1],
      [0.1, 0.5],
      [0.5, 1],
    ] as const) {
      const taken = ids.filter((id) => isWithin(id, small))
      assert.ok(taken.every((id) => isWithin(id, large)))
      assert.ok(Math.abs(taken.length / ids.length - small) < 0.05)
    }
    assert.equal(isWithin('0'.repeat(18) + 'f'.repeat(14), 1e-9), true)
    assert.equal(isWithin(`${'f'.repeat(18)}0${'f'.repeat(13)}`, 0.5), false)
  })

  it('is off for an invalid ratio', () => assert.equal(isWithin(PARENT.traceId, Number.NaN), false))
})

describe('spans', () => {
  it('of a new trace have no parent, and a random trace id', () => {
    const { tracer } = tracing()
    const joined = tracer.join(undefined)
    const span = tracer.begin(joined, 'server', 'GET /')
    assert.match(span.traceId, /^[0-9a-f]{32}$/)
    assert.match(span.spanId, /^[0-9a-f]{16}$/)
    assert.equal(span.parentId, '')
    assert.equal(span.isParentRemote, false)
    assert.equal(span.flags, 3)
  })

  it('continue the incoming trace, and are nested', () => {
    const { tracer, spans } = tracing()
    const server = tracer.begin(tracer.join(PARENT), 'server', 'GET /', 'a=1')
    const client = tracer.beginWithin(server, 'client', 'orders')
    tracer.end(client)
    tracer.end(server)
    assert.deepEqual(spans, [client, server])
    assert.equal(server.parentId, PARENT.spanId)
    assert.equal(server.isParentRemote, true)
    assert.equal(client.parentId, server.spanId)
    assert.equal(client.isParentRemote, false)
    assert.equal(client.tracestate, 'a=1')
    assert.equal(client.traceId, PARENT.traceId)
    assert.ok(server.start < client.start && client.end < server.end)
  })

  it('never end before they start', () => {
    let now = 100
    const tracer = createTracer({
      sampling: { ratio: 1, parentRatio: 1 },
      export: () => {},
      clock: () => now,
    })
    const span = tracer.begin(tracer.join(undefined), 'server', 'x')
    now = 50
    tracer.end(span)
    assert.equal(span.end, 100)
  })
})
