import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { readDecisions } from '../../src/analysis/decisions/read.ts'
import { type Replay, replay } from '../../src/analysis/decisions/replay.ts'
import { openRouter } from '../../src/cli/route-recorded.ts'
import { TokenMaker } from '../../src/cli/suite/tokens.ts'
import type { Model } from '../../src/model/model.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { freePort, modelOf, settingsOf, startBackend } from '../decisions/gateway.ts'
import { assertProperty } from './assert-property.ts'
import {
  configText,
  type Drawn,
  type DrawnRequest,
  ISSUER,
  pair,
  request,
} from './replayed-configs.ts'
import { fuzz } from './runs.ts'

const KEY = 'a-key-of-the-test-run-0123456789'

/** Sends the same requests to a gateway with the old file and to a gateway with the new file. */
describe('replay of recorded requests predicts how a gateway decides them', () => {
  const tokens = new TokenMaker()
  const SHOWN = [[], ['jwt', 'request', 'apiKey', 'source'], ['jwt.sub', 'jwt.n']]
  const tally = { same: 0, changed: 0, unknown: 0 }
  let backend: Awaited<ReturnType<typeof startBackend>>
  let olds: readonly Side[]
  let now: Side

  interface Side {
    readonly port: number
    readonly gateway: Gateway
    readonly records: DecisionRecord[]
  }

  async function side(show: readonly string[]): Promise<Side> {
    const records: DecisionRecord[] = []
    const settings = settingsOf('{}')
    const gateway = new Gateway({
      settings: { ...settings, decisions: { keep: 10, show, allowed: 1 } },
      log: createLogger({ format: 'text', level: 'error', write: () => {} }),
      metrics: createMetrics(),
      reusePort: false,
      writeDecision: (record) => void records.push(JSON.parse(JSON.stringify(record))),
    })
    return { port: await freePort(), gateway, records }
  }

  before(async () => {
    backend = await startBackend()
    olds = await Promise.all(SHOWN.map(side))
    now = await side([])
  })

  after(async () => {
    await Promise.all([...olds, now].map(({ gateway }) => gateway.drain()))
    backend.close()
  })

  const textOf = (own: Drawn, port: number) =>
    configText(own, { port, backend: backend.port, keySet: tokens.keySet, key: KEY })

  async function apply({ gateway }: Side, model: Model): Promise<void> {
    const { isApplied, diagnostics } = await gateway.apply(model)
    assert.ok(isApplied, JSON.stringify(diagnostics))
  }

  /**
   * Returns the status and the client's port; the status is 0 if the connection closes without a
   * response.
   */
  function send(port: number, own: DrawnRequest): Promise<readonly [status: number, from: number]> {
    const { line, claims, token, key } = own
    const headers = [...own.headers, 'connection: close']
    if (claims !== undefined) {
      headers.push(`authorization: Bearer ${tokens.make({ iss: ISSUER, ...claims }, token)}`)
    }
    if (key !== undefined) headers.push(`x-api-key: ${key === 'good' ? KEY : 'another'}`)
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let text = ''
      let from = 0
      socket.on('connect', () => {
        from = socket.localPort ?? 0
        const body = line.startsWith('POST') ? ['content-length: 0'] : []
        socket.write(`${[line, ...headers, ...body].join('\r\n')}\r\n\r\n`)
      })
      socket.on('data', (bytes) => (text += bytes))
      socket.on('error', () => {})
      socket.on('close', () => resolve([Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), from]))
    })
  }

  it('for any differences between the two files', async () => {
    const property = fc.asyncProperty(
      pair,
      fc.array(request, { minLength: 4, maxLength: 8 }),
      fc.nat(SHOWN.length - 1),
      async ([was, is], requests, which) => {
        const old = olds[which] as Side
        const [oldModel, newModel] = [modelOf(textOf(was, old.port)), modelOf(textOf(is, old.port))]
        old.records.length = 0
        await apply(old, oldModel)
        await apply(now, modelOf(textOf(is, now.port)))
        const served = []
        for (const own of requests) {
          const [before, from] = await send(old.port, own)
          const [status] = await send(now.port, own)
          served.push({ own, before, status, from })
        }
        await wait(5)
        const routers = [
          openRouter(oldModel, () => true),
          openRouter(newModel, () => true),
        ] as const
        const sides = {
          old: { model: oldModel, route: routers[0].route },
          now: { model: newModel, route: routers[1].route },
        }
        for (const { own, before, status, from } of served) {
          // Rules decide nothing about what is rejected for another reason, such as a 404.
          const mine = old.records.filter(
            ({ source, peer, kind }) =>
              kind !== 'rejection' && (peer ?? source).endsWith(`:${from}`),
          )
          const groups = Map.groupBy(mine, ({ id }) => id)
          for (const group of groups.values()) {
            const isConnection = group.every(({ stage }) => stage === 'connection')
            const read = readDecisions(group.map((one) => JSON.stringify(one)).join('\n'))
            assert.deepEqual(read.others, [])
            const found = replay(read.decisions, sides)
            const isServed = isConnection ? status !== 0 : status === 200
            const wasServed = isConnection ? before !== 0 : before === 200
            check(found, wasServed, isServed, () =>
              JSON.stringify({ own, before, status, found, group, was, is }),
            )
          }
        }
        for (const router of routers) router.close()
      },
    )
    await assertProperty('replay-sockets', property, { ...fuzz(0.02, 80), endOnFailure: true })
    const { same, changed, unknown } = tally
    // Proves nothing if no request was judged.
    assert.ok(changed > 10, `only ${changed} changes were told`)
    assert.ok(same + changed > unknown, `${unknown} of ${same + changed + unknown} were not known`)
  })

  function check(found: Replay, was: boolean, is: boolean, context: () => string): void {
    assert.equal(found.requests, 1)
    // The records were made with this file.
    assert.equal(found.disagreeing, 0, context())
    const [change] = found.changed
    if (found.unknown.length > 0) tally.unknown++
    else if (change === undefined) {
      tally.same++
      assert.equal(is, was, `said to be unchanged: ${context()}`)
    } else {
      tally.changed++
      assert.equal(is, change.kind === 'admitted', `said to change: ${context()}`)
      assert.notEqual(is, was, `said to change: ${context()}`)
    }
  }
})
