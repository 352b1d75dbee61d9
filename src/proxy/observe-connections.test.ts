import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ipFromSocket } from '../cel/values/ip.ts'
import { Source } from '../exchange/connection.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { ConnectionError, Http2Count, ResetReason } from '../wire/http2/limits.ts'
import { ServedSeries } from './observe-connections.ts'
import { ResetLog } from './reset-log.ts'
import type { ClosedWord } from './serving.ts'

const address = ipFromSocket('192.0.2.7')
assert.ok(address)
const SOURCE = new Source(address, 4000)

/** What a connection changed: series that are not 0, by their labels, and log records. */
function observed(use: (series: ServedSeries) => void) {
  const metrics = createMetrics()
  const records: Record<string, unknown>[] = []
  const write = (line: string) => void records.push(JSON.parse(line))
  const log = createLogger({ format: 'json', level: 'info', write })
  const series = new ServedSeries(metrics, 'web', 'http2', new ResetLog(log))
  use(series)
  const values: Record<string, number> = {}
  for (const { definition, series: all } of metrics.read()) {
    for (const one of all) {
      if (!one.labels.includes('web') || !('value' in one) || one.value === 0) continue
      const name = definition.name.replace(/^portcullis_/, '').replace(/_total$/, '')
      values[`${name} ${one.labels.filter((label) => label !== 'web').join(' ')}`] = one.value
    }
  }
  const logged = records.map((record) => {
    const { error, reason, kind, code, 'src.addr': from, count } = record
    return [error, reason ?? kind ?? code, from ?? '-', count].join(' ')
  })
  return { values, logged }
}

const OPEN = { 'downstream_connections http2': 1, 'downstream_connections_active http2': 1 }

describe('metrics of a client connection', () => {
  it('count it while it is open', () => {
    assert.deepEqual(observed(() => {}).values, OPEN)
  })

  it('count bytes in both directions', () => {
    const { values } = observed((series) => {
      series.moved(3, 50)
      series.moved(4, 0)
    })
    const bytes = { 'downstream_received_bytes http2': 7, 'downstream_sent_bytes http2': 50 }
    assert.deepEqual(values, { ...OPEN, ...bytes })
  })

  for (const [what, counted, logged] of [
    ['session', {}],
    ['stream', {}],
    ['control-frame', {}],
    ['goaway-received', {}],
    ['session-error', {}],
    ['idle', {}],
    ['ping-timeout', {}],
    ['client-reset', { 'http2_resets received': 1 }],
    ['no-preface', { 'limit_hits header-timeout': 1 }],
    ['too-many-resets', { 'http2_floods resets': 1, 'limit_hits http2-resets': 1 }, 'resets'],
    ['too-many-pings', { 'http2_floods pings': 1, 'limit_hits http2-control-frames': 1 }, 'pings'],
    [
      'too-many-settings',
      { 'http2_floods settings': 1, 'limit_hits http2-control-frames': 1 },
      'settings',
    ],
    [
      'too-many-priorities',
      { 'http2_floods priorities': 1, 'limit_hits http2-control-frames': 1 },
      'priorities',
    ],
    [
      'too-many-empty-frames',
      { 'http2_floods empty-frames': 1, 'limit_hits http2-control-frames': 1 },
      'empty-frames',
    ],
    [
      'too-many-window-updates',
      { 'http2_floods window-updates': 1, 'limit_hits http2-overhead': 1 },
      'window-updates',
    ],
    [
      'too-much-overhead',
      { 'http2_floods overhead': 1, 'limit_hits http2-overhead': 1 },
      'overhead',
    ],
    [
      'too-many-header-frames',
      { 'http2_floods header-frames': 1, 'limit_hits http2-header-frames': 1 },
      'header-frames',
    ],
    ['too-much-unread', { 'http2_floods unread': 1, 'limit_hits http2-unread': 1 }, 'unread'],
  ] as readonly (readonly [Http2Count, Record<string, number>, string?])[]) {
    it(`count ${what} of HTTP/2 as ${Object.keys(counted).join(', ') || 'nothing'}`, () => {
      const seen = observed((series) => series.counted(what, SOURCE))
      assert.deepEqual(seen.values, { ...OPEN, ...counted })
      const records = logged === undefined ? [] : [`flood ${logged} 192.0.2.7:4000 1`]
      assert.deepEqual(seen.logged, records)
    })
  }

  it('count violations of HTTP/2 by their code', () => {
    const codes: readonly ConnectionError[] = [
      'protocol',
      'flow-control',
      'stream-closed',
      'frame-size',
      'compression',
    ]
    for (const code of codes) {
      const { values, logged } = observed((series) => series.failed(code))
      assert.deepEqual(values, { ...OPEN, [`http2_errors ${code}`]: 1 })
      assert.deepEqual(logged, [`connection-error ${code} - 1`])
    }
  })

  for (const [reason, limit, isLogged] of [
    ['refused', 'http2-streams', true],
    ['aborted', undefined, true],
    ['timeout', undefined, true],
    ['malformed', undefined, true],
    ['complete', undefined, false],
  ] as readonly (readonly [ResetReason, string | undefined, boolean])[]) {
    it(`count a stream that the gateway reset because it was ${reason}`, () => {
      const { values, logged } = observed((series) => series.reset(reason))
      const hits = limit === undefined ? {} : { [`limit_hits ${limit}`]: 1 }
      const resets = { 'http2_resets sent': 1, [`http2_resets_sent ${reason}`]: 1 }
      assert.deepEqual(values, { ...OPEN, ...resets, ...hits })
      assert.deepEqual(logged, isLogged ? [`stream-reset ${reason} - 1`] : [])
    })
  }

  for (const reason of ['idle', 'drain', 'limit'] as readonly ClosedWord[]) {
    it(`count it as closed, once it is: ${reason}`, () => {
      const { values } = observed((series) => series.closed(reason))
      const hits = reason === 'idle' ? { 'limit_hits idle-timeout': 1 } : {}
      const closed = { [`downstream_connections_closed http2 ${reason}`]: 1 }
      assert.deepEqual(values, { 'downstream_connections http2': 1, ...closed, ...hits })
    })
  }
})

describe('the log of resets and floods', () => {
  it('has one record of each kind per second, with the number since the previous one', () => {
    let now = 5
    const records: string[] = []
    const write = (line: string) => {
      const { listener, error, reason, kind, code, count } = JSON.parse(line)
      records.push(`${listener} ${error} ${reason ?? kind ?? code} ${count}`)
    }
    const log = createLogger({ format: 'json', level: 'info', write })
    const resets = new ResetLog(log, () => now)
    resets.note('web', 'aborted')
    resets.note('web', 'aborted')
    resets.note('web', 'refused')
    resets.note('api', 'aborted')
    resets.flooded('web', 'pings', undefined)
    resets.failed('web', 'protocol', undefined)
    assert.deepEqual(records.splice(0), [
      'web stream-reset aborted 1',
      'web stream-reset refused 1',
      'api stream-reset aborted 1',
      'web flood pings 1',
      'web connection-error protocol 1',
    ])
    now += 999
    resets.note('web', 'aborted')
    assert.deepEqual(records, [])
    now += 1
    resets.note('web', 'aborted')
    resets.note('web', 'aborted')
    assert.deepEqual(records, ['web stream-reset aborted 3'])
  })
})
