import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Gateway } from '../../src/proxy/gateway.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import { renderPrometheus } from '../../src/telemetry/exposition-text.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { freePort } from '../free-port.ts'
import { hasten } from '../passing-time.ts'
import { steady } from '../steady-settings.ts'

/** A whole gateway, loaded from its file, with a backend that echoes what it received. */
export interface Governed {
  readonly port: number
  get(path?: string, headers?: Readonly<Record<string, string>>): Promise<Received>
  send(path: string, init: RequestInit): Promise<Received>
  /** The records of the log. */
  readonly lines: readonly Readonly<Record<string, unknown>>[]
  readonly records: readonly DecisionRecord[]
  metrics(): string
  apply(policies: string): Promise<void>
  close(): Promise<void>
}

export interface Received {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** What the backend received; undefined if it got no request. */
  readonly got: Got | undefined
}

export interface Got {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export async function listenOn(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

export async function startServer(listener: RequestListener) {
  const server = createServer(listener)
  const port = await listenOn(server)
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { port, close }
}

/** `policies` is the YAML below `policies:` of the only route; `more` is appended to the file. */
export function govern(policies: string, more = ''): Promise<Governed> {
  return governBy(policies, (text, port, backend) => {
    const indented = text.replace(/^(?=.)/gm, '    ')
    return (
      `gateways:\n  default:\n    port: ${port}\nroutes:\n- name: all\n  policies:\n${indented}\n` +
      `  backends:\n  - host: 127.0.0.1:${backend}\n${more}`
    )
  })
}

/** `write` builds the whole file from `given`; `files` are written next to it. */
export async function governBy(
  given: string,
  write: (given: string, port: number, backend: number) => string,
  files: Readonly<Record<string, string>> = {},
): Promise<Governed> {
  const backend = await startServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const got: Got = { url: request.url ?? '', headers: request.headers, body }
      response.end(`got ${JSON.stringify(got)}`)
    })
  })
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const port = await freePort()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const modelOf = (text: string) => {
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, write(text, port, backend.port))
    const { result, settings } = loadFile(file, { environment: {} })
    const { value, diagnostics } = result
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    assert.deepEqual(errors, [])
    return { model: value ?? assert.fail(), settings: steady(settings ?? assert.fail()) }
  }
  const { model, settings } = modelOf(given)
  const lines: Record<string, unknown>[] = []
  const log = createLogger({
    format: 'json',
    level: 'info',
    write: (line) => void lines.push(JSON.parse(line)),
  })
  const metrics = createMetrics()
  const records: DecisionRecord[] = []
  const gateway = new Gateway({
    settings,
    log,
    metrics,
    reusePort: false,
    writeDecision: (record) => void records.push(record),
  })
  const apply = async (next: typeof model) => {
    const { isApplied, diagnostics } = await gateway.apply(next)
    assert.ok(isApplied, JSON.stringify(diagnostics))
  }
  await apply(model)
  const send = async (path: string, init: RequestInit): Promise<Received> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init })
    const text = await response.text()
    const got = text.startsWith('got ') ? (JSON.parse(text.slice(4)) as Got) : undefined
    return { status: response.status, headers: response.headers, text, got }
  }
  return {
    port,
    send,
    get: (path = '/', headers = {}) => send(path, { headers }),
    lines,
    records,
    metrics: () => [...renderPrometheus(metrics.read())].join(''),
    apply: (text) => apply(modelOf(text).model),
    async close() {
      await hasten(gateway.drain())
      backend.close()
      rmSync(folder, { recursive: true })
    },
  }
}
