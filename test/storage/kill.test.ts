import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, startServer, type TestServer } from './postgres.ts'

/** Kills in all; a night has 300. */
const KILLS = Number(process.env['KILLS'] ?? 4)

/**
 * Writers change two resources at once, which say the same number, while processes are killed. A
 * change that was acknowledged must be there afterwards, no change may be there by half, and all
 * replicas must come to serve the same.
 */
describe(`${KILLS} kills at any point of a write`, { skip: SKIPPED }, () => {
  let server: TestServer
  let gateways: readonly StoredGateway[]

  before(async () => {
    server = await startServer()
    const url = await server.database()
    gateways = await Promise.all([startGateway(url), startGateway(url)])
  })

  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
    await server?.remove()
  })

  it('lose nothing that was acknowledged, and leave nothing by half', async () => {
    const acknowledged = new Map<string, number>()
    const attempted = new Map<string, number>()
    let isOver = false
    const writer = async (name: string, gateway: StoredGateway) => {
      for (let number = 1; !isOver; number++) {
        attempted.set(name, number)
        const changes = ['a', 'b'].map((half) => ({
          action: 'set',
          kind: 'routes',
          id: `${name}-${half}`,
          ifMatch: '*',
          value: {
            name: `${name}-${half}`,
            matches: [{ path: { exact: `/${name}-${half}` } }],
            policies: { directResponse: { status: 200, body: String(number) } },
          },
        }))
        const first = changes.map((change) => ({ ...change, ifMatch: undefined }))
        const body = { changes: acknowledged.has(name) ? changes : first }
        const reply = await gateway.api('POST', '/config/changes', body).catch(() => undefined)
        if (reply?.status === 200) acknowledged.set(name, number)
        else if (reply?.status === 428) acknowledged.set(name, acknowledged.get(name) ?? 0)
        else await wait(20)
      }
    }
    const writers = ['w', 'x', 'y'].map((name, index) =>
      writer(name, gateways[index % 2] as StoredGateway),
    )
    const killing = async () => {
      for (let kill = 0; kill < KILLS; kill++) await killOne(kill)
    }
    const killOne = async (kill: number) => {
      const count = () => [...attempted.values()].reduce((sum, one) => sum + one, 0)
      const from = count()
      await until('something is written', () => count() > from + 2)
      await wait(Math.random() * 60)
      const victim = kill % 3
      if (victim !== 1) {
        await server.stop('SIGKILL')
        await server.start()
      }
      if (victim !== 0) await gateways[kill % 2]?.restart()
      await until('all are back', async () =>
        (await Promise.all(gateways.map((one) => one.ready()))).every((it) => it === '200 ready\n'),
      )
    }
    try {
      await killing()
    } finally {
      // Whatever failed, they end: nothing else would end this process.
      isOver = true
      await Promise.all(writers)
    }

    const bodyOf = async (gateway: StoredGateway, path: string) => {
      const reply = await fetch(`http://127.0.0.1:${gateway.port}/${path}`)
      const text = await reply.text()
      return reply.status === 200 ? Number(text) : 0
    }
    await until('all know the same', async () => {
      const paths = ['/config/resources?kind=routes', '/config/history?limit=1000']
      const known = await Promise.all(
        gateways.map(async (one) =>
          (await Promise.all(paths.map((path) => one.api('GET', path)))).map(({ text }) => text),
        ),
      )
      return known.every((texts) => texts.join() === known[0]?.join())
    })
    for (const name of acknowledged.keys()) {
      for (const gateway of gateways) {
        const known = acknowledged.get(name) ?? 0
        await until(`${name} is served`, async () => (await bodyOf(gateway, `${name}-a`)) >= known)
        const [a, b] = [await bodyOf(gateway, `${name}-a`), await bodyOf(gateway, `${name}-b`)]
        assert.equal(a, b, `${name} is there by half`)
        assert.ok(a <= (attempted.get(name) ?? 0))
      }
    }
    assert.ok(acknowledged.size > 0)
  })
})
