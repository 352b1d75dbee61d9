import { getHeapStatistics } from 'node:v8'
import { createRequestId } from '../src/telemetry/create-request-id.ts'
import { requestDuration, requests } from '../src/telemetry/definitions/requests.ts'
import { type ExpositionFormat, type MetricView, rendererOf } from '../src/telemetry/exposition.ts'
import type { HistogramKind } from '../src/telemetry/histogram.ts'
import { createLogger, type LogFields } from '../src/telemetry/log.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { encodeSpan } from '../src/telemetry/otlp-protobuf.ts'
import { merge } from '../src/telemetry/snapshot.ts'
import { Milliseconds } from '../src/telemetry/time-text.ts'
import { createTracer, type Span } from '../src/telemetry/trace.ts'
import { parseTraceparent, writeTraceparent } from '../src/telemetry/trace-context.ts'
import { type Contender, contender, interleave, sink } from './measure.ts'
import { nanoseconds, type Report, type Table, type Target } from './report.ts'

/** Cost of metrics, logs and traces per request, and cost of a scrape. */
export async function telemetry(): Promise<Report> {
  const perRequest = await measure([...counting(), ...logging(), ...tracing()])
  const scrapes = await measure(await scraping())
  const cost = (name: string) => perRequest.get(name) ?? NO_COST
  return {
    intro: [
      'CPU time of one call (p10) and what it allocates. A request is counted by a series that it',
      'finds by method, status and reason, and observed by a histogram; its record has 16 fields.',
    ],
    targets: [
      target('counter: inc', cost(INC).time, 5),
      target('counter: find a series and inc', cost(FIND).time, 50),
      target('histogram: observe, classic', cost(CLASSIC).time, 50),
      target('access log record, text', cost(TEXT).time, 3000),
      target('access log record, JSON', cost(JSON_FORM).time, 3000),
      target('scrape of 2,000 counters, text', (scrapes.get(SCRAPE) ?? NO_COST).time, 5_000_000),
    ],
    tables: [table('One request', perRequest), table('One scrape', scrapes)],
  }
}

const INC = 'counter: inc'
const FIND = 'counter: same series as before, and inc'
const CLASSIC = 'histogram: observe, classic'
const TEXT = 'log: record as text'
const JSON_FORM = 'log: record as JSON'
const SCRAPE = '2,000 counters, text'

interface Cost {
  readonly time: number
  readonly bytes: number
}

const NO_COST: Cost = { time: Number.NaN, bytes: Number.NaN }

async function measure(contenders: readonly Contender[]): Promise<ReadonlyMap<string, Cost>> {
  const figures = await interleave(contenders)
  const costs = new Map<string, Cost>()
  for (const each of contenders) {
    const time = figures.get(each.name)?.p10 ?? Number.NaN
    const turns = Math.ceil(20_000_000 / time)
    const before = allocated()
    await each.slice(turns)
    costs.set(each.name, { time, bytes: (allocated() - before) / turns })
  }
  return costs
}

function allocated(): number {
  const { total_allocated_bytes: bytes } = getHeapStatistics() as unknown as Record<string, number>
  return bytes ?? Number.NaN
}

function table(title: string, costs: ReadonlyMap<string, Cost>): Table {
  return {
    title,
    columns: ['what', 'time', 'allocates'],
    rows: [...costs].map(([name, { time, bytes }]) => [name, nanoseconds(time), size(bytes)]),
  }
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes.toFixed(0)} B`
  return bytes < 2 ** 20
    ? `${(bytes / 1024).toFixed(1)} KiB`
    : `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

function target(what: string, measured: number, max: number): Target {
  return {
    what,
    wanted: `≤ ${nanoseconds(max)}`,
    measured: nanoseconds(measured),
    met: measured <= max,
  }
}

const LABELS = { listener: 'default/https', route: 'shop/orders' } as const
const STATUSES = ['2xx', '2xx', '4xx', '3xx', '2xx', '5xx', '2xx', '4xx'] as const

function counting(): readonly Contender[] {
  const metrics = createMetrics()
  const slice = metrics.counter(requests).of(LABELS)
  const series = slice.at('GET', '2xx', 'upstream')
  const observing = (name: string, histograms: HistogramKind) => {
    const histogram = createMetrics({ histograms }).histogram(requestDuration).at(LABELS)
    return contender(name, (times) => {
      for (let i = 0; i < times; i++) histogram.observe((i & 1023) * 0.0001)
      sink.count += histogram.count
    })
  }
  return [
    contender(INC, (times) => {
      for (let i = 0; i < times; i++) series.inc()
      sink.count += series.value
    }),
    contender(FIND, (times) => {
      for (let i = 0; i < times; i++) slice.at('GET', '2xx', 'upstream').inc()
      sink.count += series.value
    }),
    contender('counter: another series, and inc', (times) => {
      for (let i = 0; i < times; i++) {
        slice.at('GET', STATUSES[i & 7] as '2xx', 'upstream').inc()
      }
      sink.count += series.value
    }),
    contender('counter: by all labels, and inc', (times) => {
      const family = metrics.counter(requests)
      for (let i = 0; i < times; i++) family.of(LABELS).at('GET', '2xx', 'upstream').inc()
      sink.count += series.value
    }),
    observing(CLASSIC, 'classic'),
    observing('histogram: observe, native', 'native'),
    observing('histogram: observe, both', 'both'),
  ]
}

function accessRecord(i: number): LogFields {
  return {
    gateway: 'default',
    listener: 'https',
    route: 'shop/orders',
    backend: 'orders',
    endpoint: '10.0.3.7:8080',
    'src.addr': '203.0.113.9:51410',
    'http.method': 'GET',
    'http.host': 'shop.example',
    'http.path': '/orders/7/items',
    'http.version': 'HTTP/1.1',
    'http.status': 200,
    'request.id': '01a1dd64-996a-76f8-bf3a-bf7a3c672491',
    reason: 'upstream',
    'bytes.received': i & 1023,
    'bytes.sent': 5120,
    duration: new Milliseconds((i & 4095) * 0.013),
  }
}

function logging(): readonly Contender[] {
  const write = (line: string) => {
    sink.count += line.length
  }
  const records = (name: string, log: (fields: LogFields) => void) =>
    contender(name, (times) => {
      for (let i = 0; i < times; i++) log(accessRecord(i))
    })
  const text = createLogger({ format: 'text', level: 'info', write })
  const json = createLogger({ format: 'json', level: 'info', write })
  const off = createLogger({ format: 'text', level: 'warn', write })
  const batches = createLogger({ format: 'text', level: 'info', write: collect() })
  return [
    records(TEXT, (fields) => text.info('request', fields)),
    records('log: record as text, encoded in batches', (fields) => batches.info('request', fields)),
    records(JSON_FORM, (fields) => json.info('request', fields)),
    records('log: record by JSON.stringify, to compare', (fields) => {
      const time = new Date().toISOString()
      write(`${JSON.stringify({ time, level: 'info', scope: 'request', ...fields })}\n`)
    }),
    contender('log: a level that is off', (times) => {
      for (let i = 0; i < times; i++) if (off.isOn('info')) off.info('request', accessRecord(i))
    }),
  ]
}

/** Buffers lines as the sink does, without the write. */
function collect(): (line: string) => void {
  let waiting = ''
  return (line) => {
    waiting += line
    if (waiting.length < 65_536) return
    sink.count += Buffer.from(waiting).length
    waiting = ''
  }
}

function tracing(): readonly Contender[] {
  const header = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  let ended: Span | undefined
  const tracer = createTracer({
    sampling: { ratio: 1, parentRatio: 1 },
    export: (span) => {
      ended = span
    },
  })
  const trace = () => {
    const span = tracer.begin(tracer.join(parseTraceparent(header)), 'server', 'GET /orders')
    span.attributes = { 'http.request.method': 'GET', 'http.response.status_code': 200 }
    tracer.end(span)
    return span
  }
  const span = ended ?? trace()
  return [
    contender('request id', (times) => {
      for (let i = 0; i < times; i++) sink.count += createRequestId().length
    }),
    contender('trace: read and write traceparent', (times) => {
      for (let i = 0; i < times; i++) {
        const context = parseTraceparent(header)
        if (context !== undefined) sink.count += writeTraceparent(context).length
      }
    }),
    contender('trace: one span', (times) => {
      for (let i = 0; i < times; i++) sink.count += trace().flags
    }),
    contender('trace: encode a span', (times) => {
      for (let i = 0; i < times; i++) sink.count += encodeSpan(span).length
    }),
  ]
}

async function scraping(): Promise<readonly Contender[]> {
  const metrics = createMetrics({ histograms: 'both' })
  const counters = metrics.counter(requests)
  const histograms = metrics.histogram(requestDuration)
  for (let i = 0; i < 500; i++) {
    const labels = { listener: 'default/https', route: `shop/route-${i}` }
    for (const status of ['2xx', '3xx', '4xx', '5xx'] as const) {
      counters
        .of(labels)
        .at('GET', status, 'upstream')
        .inc(i * 1000)
    }
    for (let n = 0; n < 100; n++) histograms.at(labels).observe((n * i) / 1e4)
  }
  const views = [...metrics.read()]
  const only = (name: string) => views.filter(({ definition }) => definition.name === name)
  const scrape = async (
    name: string,
    read: () => Iterable<MetricView>,
    format: ExpositionFormat,
  ) => {
    const render = await rendererOf(format)
    return contender(name, (times) => {
      for (let i = 0; i < times; i++) {
        for (const piece of render(read())) sink.count += piece.length
      }
    })
  }
  const counted = only('portcullis_requests_total')
  const observed = only('portcullis_request_duration_seconds')
  return Promise.all([
    scrape(SCRAPE, () => counted, 'prometheus'),
    scrape('2,000 counters, OpenMetrics', () => counted, 'openmetrics'),
    scrape('2,000 counters, protobuf', () => counted, 'protobuf'),
    scrape('500 histograms (9,500 series), text', () => observed, 'prometheus'),
    scrape('500 histograms, classic and native, protobuf', () => observed, 'protobuf'),
    contender('snapshot of all', (times) => {
      for (let i = 0; i < times; i++) sink.count += metrics.snapshot().length
    }),
    scrape('4 workers merged, text', fourWorkers(metrics.snapshot()), 'prometheus'),
  ])
}

function fourWorkers(snapshot: ReturnType<ReturnType<typeof createMetrics>['snapshot']>) {
  const snapshots = Array.from({ length: 4 }, () => snapshot)
  return () => merge(snapshots)
}
