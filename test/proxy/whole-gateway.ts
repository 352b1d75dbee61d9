import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openMetrics } from '../../src/cli/fleet.ts'
import type { Model } from '../../src/model/model.ts'
import type { Settings } from '../../src/model/settings.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import { renderPrometheus } from '../../src/telemetry/exposition-text.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { hasten } from '../passing-time.ts'
import { steady } from '../steady-settings.ts'

export type LogLine = Readonly<Record<string, unknown>>

/** A gateway as the program runs it, from the text of its configuration, in this process. */
export interface WholeGateway {
  /** The log lines as written. */
  readonly lines: LogLine[]
  /** The number of open client connections. */
  readonly connections: () => number
  /** The value of one series, as `name{label="value"}`; 0 if there is none. */
  readonly metric: (series: string) => number
  readonly metrics: () => string
  readonly apply: (text: string) => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startWhole(text: string): Promise<WholeGateway> {
  const model = modelOf(text)
  const lines: LogLine[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const log = createLogger({ format: 'json', level: 'info', write })
  const settings = settingsOf(text)
  const metrics = openMetrics(settings)
  const gateway = new Gateway({ settings, log, metrics, reusePort: false })
  const apply = async (next: Model) => {
    const { isApplied, diagnostics } = await gateway.apply(next)
    assert.ok(isApplied, JSON.stringify(diagnostics))
  }
  await apply(model)
  const render = () => [...renderPrometheus(metrics.read())].join('')
  return {
    lines,
    connections: () => gateway.connections,
    metrics: render,
    metric: (series) => seriesValue(render(), series),
    apply: (next) => apply(modelOf(next)),
    stop: async () => void (await hasten(gateway.drain())),
  }
}

export function seriesValue(exposition: string, series: string): number {
  const found = exposition.split('\n').find((line) => line.startsWith(`${series} `))
  return found === undefined ? 0 : Number(found.slice(series.length + 1))
}

export function modelOf(text: string): Model {
  return readText(text).model
}

/** The settings of the process that serves this configuration. */
export function settingsOf(text: string): Settings {
  return readText(text).settings
}

function readText(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  try {
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, text)
    const { result, settings } = loadFile(file, { environment: {} })
    const { value: model, diagnostics } = result
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    assert.ok(model !== undefined && errors.length === 0, JSON.stringify(diagnostics))
    return { model, settings: steady(settings ?? assert.fail()) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Waits until `test` returns true; fails with `what` if it never does. */
export async function until(
  what: string,
  test: () => boolean | Promise<boolean>,
  seconds = 60,
): Promise<void> {
  for (let i = 0; i < seconds * 50; i++) {
    if (await test()) return
    await wait(20)
  }
  assert.fail(`waited in vain for ${what}`)
}
