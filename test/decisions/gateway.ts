import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Origin } from '../../src/diagnostics/diagnostic.ts'
import { locate } from '../../src/diagnostics/places.ts'
import { renderOrigin } from '../../src/diagnostics/render.ts'
import type { Model } from '../../src/model/model.ts'
import type { Settings } from '../../src/model/settings.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { type Loaded, loadText } from '../../src/sources/file/load.ts'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import type { DecisionQuery } from '../../src/telemetry/decision-ring.ts'
import { renderPrometheus } from '../../src/telemetry/exposition-text.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { hasten } from '../passing-time.ts'
import { steady } from '../steady-settings.ts'

export { freePort } from '../free-port.ts'

export interface Deciding {
  readonly gateway: Gateway
  readonly decisions: (query?: Partial<DecisionQuery>) => readonly DecisionRecord[]
  /**
   * Returns the only decision. Waits for it, since a connection may end before its decision is
   * recorded.
   */
  readonly only: (query?: Partial<DecisionQuery>) => Promise<DecisionRecord>
  readonly lines: readonly string[]
  /** The value of the series whose line starts with `series`. */
  readonly metric: (series: string) => number | undefined
  readonly apply: (text: string) => Promise<void>
  readonly stop: () => Promise<unknown>
}

/** Starts a gateway in this process from the text of a configuration file. */
export async function startDeciding(
  text: string,
  format: 'text' | 'json' = 'text',
): Promise<Deciding> {
  const model = modelOf(text)
  const lines: string[] = []
  const log = createLogger({ format, level: 'info', write: (line) => void lines.push(line) })
  const metrics = createMetrics()
  let { places } = load(text)
  const showOrigin = (origin: Origin) => renderOrigin(locate(places, origin))
  const settings = settingsOf(text)
  const gateway = new Gateway({ settings, log, metrics, reusePort: false, showOrigin })
  const apply = async (next: Model) => {
    const { isApplied, diagnostics } = await gateway.apply(next)
    assert.ok(isApplied, JSON.stringify(diagnostics))
  }
  await apply(model)
  const decisions = (query: Partial<DecisionQuery> = {}) =>
    gateway.decisions({ limit: 1_000, ...query })
  return {
    gateway,
    decisions,
    only: async (query) => {
      for (let i = 0; i < 200 && decisions(query).length === 0; i++) await wait(10)
      const [record, ...more] = decisions(query)
      assert.deepEqual(more, [])
      return record ?? assert.fail('nothing was recorded')
    },
    lines,
    metric: (series) => {
      const all = [...renderPrometheus(metrics.read())].join('').split('\n')
      const line = all.find((own) => own.startsWith(`${series} `))
      return line === undefined ? undefined : Number(line.split(' ').at(-1))
    },
    apply: async (next) => {
      await apply(modelOf(next))
      places = load(next).places
      gateway.updateCatalog(settingsOf(next))
    },
    stop: () => hasten(gateway.drain()),
  }
}

export function modelOf(text: string): Model {
  const { value, diagnostics } = load(text).result
  assert.ok(value, JSON.stringify(diagnostics))
  return value
}

export function settingsOf(text: string): Settings {
  return steady(load(text).settings ?? assert.fail())
}

function load(text: string): Loaded {
  const path = join(import.meta.dirname, 'gateway.yaml')
  return loadText(text, path, { shownAs: 'gateway.yaml', environment: {} })
}

export async function startBackend(): Promise<Server & { readonly port: number }> {
  const server = createServer((_, response) => response.end('hello'))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return Object.assign(server, { port: (server.address() as AddressInfo).port })
}
