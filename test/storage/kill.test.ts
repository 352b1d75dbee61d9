import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

/** The total number of kills; a nightly run has 300. */
const KILLS = Number(process.env['KILLS'] ?? 4)

const VICTIMS = ['PostgreSQL', 'gateway', 'both'] as const

/**
 * Writers change two resources at once, which contain the same number, while processes are killed.
 * Afterwards, every acknowledged change must be there, no change may be there by half, and all
 * replicas must converge to the same configuration.
 */
describe(`${KILLS} kills at any point of a write`, { skip: SKIPPED }, () => {
  let server: TestServer
  let url: string
  let gateways: readonly StoredGateway[]

  before(async () => {
    server = await sharedServer()
    url = await server.database()
    gateways = await Promise.all([startGateway(url), startGateway(url)])
  })

  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
  })

  it('lose nothing that was acknowledged, and leave no partial change', async (context) => {
    const acknowledged = new Map<string, number>()
    /**
     * All acknowledged changes by revision: a later one would hide that an earlier one was lost.
     */
    const stored = new Map<number, string>()
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
        if (reply?.status === 200) {
          acknowledged.set(name, number)
          stored.set(Number(reply.json['revision']), `${name} ${number}`)
        } else if (reply?.status === 428) acknowledged.set(name, acknowledged.get(name) ?? 0)
        else await wait(20)
      }
    }
    const writers = ['w', 'x', 'y'].map((name, index) =>
      writer(name, gateways[index % 2] as StoredGateway),
    )
    const killing = async () => {
      for (let kill = 0; kill < KILLS; kill++) await killOne(kill)
    }
    const killed = { gateway: 0, PostgreSQL: 0, both: 0 }
    const killOne = async (kill: number) => {
      const count = () => [...attempted.values()].reduce((sum, one) => sum + one, 0)
      const from = count()
      await until('something is written', () => count() > from + 2)
      await wait(Math.random() * 60)
      const victim = VICTIMS[kill % 3] as (typeof VICTIMS)[number]
      killed[victim]++
      const gateway = gateways[kill % 2] as StoredGateway
      // Both at the same moment, and neither waits for the other to be back.
      await Promise.all([
        victim === 'PostgreSQL' ? undefined : gateway.restart(),
        victim === 'gateway' ? undefined : server.stop('SIGKILL').then(() => server.start()),
      ])
      await until('all are back', async () =>
        (await Promise.all(gateways.map((one) => one.ready()))).every((it) => it === '200 ready\n'),
      )
    }
    try {
      await killing()
    } finally {
      // Stops the writers after any failure: nothing else would end this process.
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
    const rows = (await server.query(
      `select revision::int, id, value->'policies'->'directResponse'->>'body' as number
       from portcullis_history order by revision, id`,
      [],
      url,
    )) as readonly { readonly revision: number; readonly id: string; readonly number: string }[]
    const changes = Map.groupBy(rows, ({ revision }) => revision)
    for (const [revision, halves] of changes) {
      const [{ id, number } = assert.fail()] = halves
      const name = id.slice(0, 1)
      assert.deepEqual(
        halves.map((one) => [one.id, one.number]),
        ['a', 'b'].map((half) => [`${name}-${half}`, number]),
        `revision ${revision} is there by half`,
      )
    }
    const lost = [...stored].filter(([revision, what]) => {
      const [first] = changes.get(revision) ?? []
      return first === undefined || `${first.id.slice(0, 1)} ${first.number}` !== what
    })
    assert.deepEqual(lost, [], 'acknowledged and lost')
    assert.deepEqual(
      [...changes.keys()],
      [...changes.keys()].map((_, index) => index + 1),
    )
    const { gateway, PostgreSQL, both } = killed
    context.diagnostic(
      `${gateway} kills of a gateway, ${PostgreSQL} of PostgreSQL, ${both} of both; ` +
        `${stored.size} acknowledged writes, ${changes.size} stored, 0 lost, 0 by half`,
    )
  })
})
