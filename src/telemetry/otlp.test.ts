import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { spansIn } from '../../test/proxy/spans.ts'
import { createOtlpExporter, type OtlpExporterOptions } from './otlp.ts'
import type { OtlpLoss } from './otlp-batches.ts'
import { createOtlpSend, parseRetryAfter } from './otlp-send.ts'
import type { Span } from './trace.ts'

const SOURCE = {
  resource: { 'service.name': 'portcullis' },
  scope: { name: 'portcullis', version: '0.1.0' },
} as const

function span(name: string, more: Partial<Span> = {}): Span {
  return {
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    flags: 3,
    parentId: '',
    isParentRemote: false,
    tracestate: '',
    kind: 'server',
    name,
    start: 1_770_091_506_123_456,
    end: 1_770_091_506_125_000,
    attributes: {},
    status: 'unset',
    message: '',
    ...more,
  }
}

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface CollectorResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

/** A collector that sends these responses in order and repeats the last; `hang` never responds. */
async function collector(
  t: TestContext,
  responses: readonly (CollectorResponse | 'hang')[] = [{ status: 200 }],
) {
  const received: Received[] = []
  let onReceived = () => {}
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const reply = responses[Math.min(received.length, responses.length - 1)]
      received.push({ headers: request.headers, body: Buffer.concat(chunks) })
      onReceived()
      if (reply === 'hang' || reply === undefined) return
      response.writeHead(reply.status, reply.headers).end(reply.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const until = async (requests: number) => {
    while (received.length < requests) {
      await new Promise<void>((resolve) => {
        onReceived = resolve
      })
    }
  }
  return { url: `http://127.0.0.1:${port}/v1/traces`, received, until }
}

function exporterTo(url: string, options: Partial<OtlpExporterOptions> = {}) {
  const losses: [number, OtlpLoss, string][] = []
  let exported = 0
  const exporter = createOtlpExporter({
    source: SOURCE,
    send: createOtlpSend({ url, timeout: 60_000, headers: { 'x-token': 'secret' } }),
    interval: 5,
    backoff: 2,
    onExported: (spans) => void (exported += spans),
    onLost: (...loss) => losses.push(loss),
    ...options,
  })
  const stopped = () => new Promise<void>((resolve) => exporter.stop(resolve))
  return { exporter, losses, exported: () => exported, stopped }
}

describe('spans that are delivered', () => {
  for (const [encoding, contentType] of [
    ['protobuf', 'application/x-protobuf'],
    ['json', 'application/json'],
  ] as const) {
    it(`as ${encoding}`, async (t) => {
      const { url, received, until } = await collector(t)
      const { exporter, exported, stopped } = exporterTo(url, { encoding })
      exporter.export(span('GET /orders'))
      await until(1)
      await stopped()
      assert.equal(exported(), 1)
      assert.equal(received[0]?.headers['content-type'], contentType)
      assert.equal(received[0]?.headers['x-token'], 'secret')
      assert.deepEqual(namesIn(received[0]), ['GET /orders'])
    })
  }

  it('arrive in batches, in order', async (t) => {
    const { url, received } = await collector(t)
    const { exporter, exported, stopped } = exporterTo(url, { batch: 10, interval: 60_000 })
    for (let i = 0; i < 25; i++) exporter.export(span(`${i}`))
    await stopped()
    const batches = received.map((each) => namesIn(each).map(Number))
    assert.deepEqual(
      batches.map(({ length }) => length),
      [10, 10, 5],
    )
    assert.deepEqual(
      batches.flat(),
      Array.from({ length: 25 }, (_, i) => i),
    )
    assert.equal(exported(), 25)
  })
})

describe('a collector that', () => {
  for (const status of [429, 502, 503, 504]) {
    it(`responds with ${status} gets the same again`, async (t) => {
      const { url, received, until } = await collector(t, [{ status }, { status }, { status: 200 }])
      const { exporter, exported, losses, stopped } = exporterTo(url)
      exporter.export(span('x'))
      await until(3)
      await stopped()
      assert.deepEqual([exported(), losses], [1, []])
      assert.deepEqual(received[2]?.body, received[0]?.body)
    })
  }

  it('sends Retry-After is not called earlier', async (t) => {
    const later = { status: 503, headers: { 'retry-after': '1' } }
    const { url, until } = await collector(t, [later, { status: 200 }])
    const { exporter, stopped } = exporterTo(url)
    const set = globalThis.setTimeout
    const waits: (number | undefined)[] = []
    t.mock.method(globalThis, 'setTimeout', ((callback: () => void, wait?: number) => {
      waits.push(wait)
      return set(callback, wait === 1_000 ? 0 : wait)
    }) as typeof setTimeout)
    exporter.export(span('x'))
    await until(2)
    assert.ok(waits.includes(1_000), String(waits))
    await stopped()
  })

  for (const [name, response, why, detail] of [
    ['responds with 400 is not called again', { status: 400 }, 'refused', 'status 400'],
    ['responds with 500 is not called again', { status: 500 }, 'refused', 'status 500'],
    [
      'redirects is not followed',
      { status: 307, headers: { location: '/' } },
      'refused',
      'status 307',
    ],
    ['is down for long loses spans', { status: 503 }, 'unavailable', 'status 503'],
    ['hangs for long loses spans', 'hang', 'unavailable', 'no response within 20 ms'],
    [
      'says too much is not listened to',
      { status: 200, body: 'x'.repeat(100_000) },
      'unavailable',
      'the response is too large',
    ],
  ] as const) {
    it(name, async (t) => {
      const { url, received } = await collector(t, [response])
      const lost = Promise.withResolvers<readonly [number, OtlpLoss, string]>()
      const { exporter } = exporterTo(url, {
        send: createOtlpSend({ url, timeout: response === 'hang' ? 20 : 10_000 }),
        attempts: 3,
        onLost: (...loss) => lost.resolve(loss),
      })
      exporter.export(span('x'))
      assert.deepEqual(await lost.promise, [1, why, detail])
      assert.equal(received.length, why === 'refused' ? 1 : 3)
    })
  }

  it('is unreachable loses spans', async () => {
    const lost = Promise.withResolvers<readonly [number, OtlpLoss, string]>()
    const { exporter } = exporterTo('http://127.0.0.1:1/v1/traces', {
      attempts: 2,
      onLost: (...loss) => lost.resolve(loss),
    })
    exporter.export(span('x'))
    const [, why, detail] = await lost.promise
    assert.equal(why, 'unavailable')
    assert.match(detail, /ECONNREFUSED/)
  })

  for (const [encoding, body] of [
    ['protobuf', Uint8Array.of(0x0a, 4, 0x08, 2, 0x12, 0)],
    ['json', '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'],
  ] as const) {
    it(`takes a part only, and says so in ${encoding}`, async (t) => {
      const { url, until } = await collector(t, [{ status: 200, body }])
      const { exporter, exported, losses, stopped } = exporterTo(url, { encoding })
      for (const name of ['a', 'b', 'c']) exporter.export(span(name))
      await until(1)
      await stopped()
      assert.equal(exported(), 1)
      assert.deepEqual(losses, [[2, 'refused', 'the collector accepted only a part']])
    })
  }
})

describe('an exporter', () => {
  it('drops spans when its queue is full, without blocking', async (t) => {
    const { url, until } = await collector(t, ['hang'])
    const { exporter, losses, stopped } = exporterTo(url, {
      capacity: 100,
      batch: 10,
      send: createOtlpSend({ url, timeout: 50 }),
    })
    for (let i = 0; i < 10; i++) exporter.export(span('first'))
    await until(1)
    for (let i = 0; i < 1000; i++) exporter.export(span('more'))
    assert.equal(losses.length, 900)
    assert.deepEqual(losses[0], [1, 'queue-full', ''])
    await stopped()
    assert.deepEqual(losses.at(-1), [110, 'stopped', 'no response within 50 ms'])
    exporter.export(span('late'))
    assert.deepEqual(losses.at(-1), [1, 'stopped', ''])
  })

  it('that stops while it waits tries once more', async (t) => {
    const { url, until } = await collector(t, [{ status: 503 }, { status: 200 }])
    const { exporter, exported, stopped } = exporterTo(url, { backoff: 3_600_000 })
    const { mock } = t.mock.method(globalThis, 'setTimeout')
    const isWaiting = () =>
      mock.calls.some(
        ({ arguments: [, wait] }) => wait !== undefined && wait >= 1_000 && wait < 60_000,
      )
    exporter.export(span('x'))
    await until(1)
    while (!isWaiting()) await new Promise((resolve) => setImmediate(resolve))
    await stopped()
    assert.equal(exported(), 1)
  })

  it('that has nothing to send stops at once', async () => {
    await exporterTo('http://127.0.0.1:1/').stopped()
  })
})

describe('Retry-After', () => {
  const now = Date.parse('2026-02-03T04:05:06Z')
  for (const [header, expected] of [
    [undefined, undefined],
    ['0', 0],
    ['120', 120_000],
    ['Tue, 03 Feb 2026 04:05:36 GMT', 30_000],
    ['Tue, 03 Feb 2026 04:05:00 GMT', 0],
    ['soon', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['2026-02-03', undefined],
  ] as const) {
    it(`${header} is ${expected}`, () => assert.equal(parseRetryAfter(header, now), expected))
  }
})

/** The names of the spans of an ExportTraceServiceRequest. */
function namesIn(received: Received | undefined): readonly string[] {
  assert.ok(received !== undefined)
  if (received.headers['content-type'] === 'application/json') {
    const { resourceSpans } = JSON.parse(received.body.toString())
    return resourceSpans[0].scopeSpans[0].spans.map(({ name }: Span) => name)
  }
  return spansIn([received.body]).map(({ name }) => name)
}
