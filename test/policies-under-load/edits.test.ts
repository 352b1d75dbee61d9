import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { Agent, request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { Model } from '../../src/model/model.ts'
import { Workers } from '../../src/proxy/workers.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { freePort, modelOf, settingsOf, startBackend, startDeciding } from '../decisions/gateway.ts'
import { PORTCULLIS } from '../programs.ts'

describe('policies edited under load', () => {
  let backend: Server & { readonly port: number }
  before(async () => {
    backend = await startBackend()
  })
  after(() => {
    backend.close()
    backend.closeAllConnections()
  })

  /**
   * Admits a single path and reports its version, so that the deciding version can be identified.
   */
  function version(number: number, port: number): string {
    return `gateways: { default: { port: ${port} } }
routes:
- name: all
  gateways: [default]
  policies:
    authorization:
      rules:
      - deny: request.headers['x-forbidden'] == '${number}'
      - require: request.path.startsWith('/')
      - allow: request.path == '/${number}'
    responseHeaders: { set: { x-policy: '${number}' } }
  backends: [{ host: '127.0.0.1:${backend.port}' }]
`
  }

  interface Seen {
    requests: number
    /** Versions that decided at least one request. */
    readonly versions: Set<number>
  }

  /** Applies one edit after the other while clients send requests and check each response. */
  async function edit(
    edits: number,
    clients: number,
    port: number,
    apply: (number: number) => Promise<void>,
  ): Promise<Seen> {
    let acknowledged = 0
    let begun = 0
    let isOver = false
    const seen: Seen = { requests: 0, versions: new Set() }
    const agent = new Agent({ keepAlive: true, maxSockets: clients })
    const client = async (isNext: boolean) => {
      while (!isOver) {
        const min = acknowledged
        // Half of the clients request the path that the next edit will admit.
        const asked = isNext ? min + 1 : min
        const { status, policy } = await ask(port, `/${asked}`, agent)
        assert.ok(policy >= min, `${policy} decided after ${min} was acknowledged`)
        assert.ok(policy <= begun, `${policy} decided before it was there`)
        assert.equal(status, policy === asked ? 200 : 403, `${asked} by ${policy}`)
        seen.requests++
        seen.versions.add(policy)
      }
    }
    const asking = Array.from({ length: clients }, (_, i) => client(i % 2 === 0))
    const failed = Promise.all(asking).then(
      () => undefined,
      (error: unknown) => error,
    )
    for (let number = 1; number <= edits; number++) {
      begun = number
      await apply(number)
      acknowledged = number
      const { policy } = await ask(port, `/${number}`, agent)
      assert.equal(policy, number)
    }
    isOver = true
    const error = await failed
    agent.destroy()
    if (error !== undefined) throw error
    return seen
  }

  it('are decided by the old or the new version, and never by the old one once the new is acknowledged', async () => {
    const port = await freePort()
    const own = await startDeciding(version(0, port))
    const models = Array.from({ length: 1_001 }, (_, i) => modelOf(version(i, port)))
    const seen = await edit(1_000, 8, port, async (number) => {
      const { isApplied } = await own.gateway.apply(models[number] as Model)
      assert.ok(isApplied)
    })
    assert.ok(seen.requests >= 1_000, `${seen.requests} requests`)
    assert.ok(seen.versions.size >= 100, `${seen.versions.size} versions`)
    // Each denial names the rule of the version that decided.
    for (const { nearest, path } of own.decisions()) {
      const allowed = /'(\/\d+)'/.exec(nearest?.expression ?? '')?.[1]
      assert.notEqual(allowed, path)
    }
    await own.stop()
  })

  it('are decided alike in all workers', async () => {
    const port = await freePort()
    const text = (number: number) =>
      `config: { workers: 2, logging: { level: error } }\n${version(number, port)}`
    const log = createLogger({ format: 'text', level: 'off', write: () => {} })
    const workers = new Workers([PORTCULLIS, 'worker'], settingsOf(text(0)), 2, log)
    const apply = async (number: number) => {
      const { isApplied, diagnostics } = await workers.apply(modelOf(text(number)))
      assert.ok(isApplied, JSON.stringify(diagnostics))
    }
    // A worker must run as an ordinary process, without the options of the test runner.
    const options = process.execArgv.splice(0)
    await apply(0)
    process.execArgv.push(...options)
    const seen = await edit(100, 8, port, apply)
    assert.ok(seen.requests >= 100)
    await workers.drain()
  })
})

function ask(
  port: number,
  path: string,
  agent: Agent,
): Promise<{ readonly status: number; readonly policy: number }> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', path, agent }, (response) => {
      response.resume()
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, policy: Number(response.headers['x-policy']) })
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}
