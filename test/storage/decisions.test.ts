import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DecisionTable } from '../../src/sources/database/decision-table.ts'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { type HeldProxy, startProxy } from './held-proxy.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { openReplica } from './replica.ts'
import { sharedServer } from './shared-server.ts'

const ROUTES = `- name: home
  policies:
    authorization: { rules: [{ deny: "request.path.startsWith('/denied')" }] }
    directResponse: { status: 200, body: home }
`

describe('decisions in a database', { skip: SKIPPED }, () => {
  let server: TestServer
  let proxy: HeldProxy
  let url: string
  let gateways: readonly [StoredGateway, StoredGateway]

  before(async () => {
    server = await sharedServer()
    url = await server.database()
    proxy = await startProxy(server)
    const at = proxy.urlOf(url)
    const keep = { decisions: { keep: 5 } }
    gateways = await Promise.all([
      startGateway(at, { routes: ROUTES, workers: 2, config: keep }),
      startGateway(at, { routes: ROUTES, config: keep }),
    ])
  })

  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
    await proxy?.close()
  })

  const pathsAt = async (gateway: StoredGateway, query = '') => {
    const { json } = await gateway.api('GET', `/decisions?limit=1000${query}`)
    return (json['decisions'] as readonly { readonly path: string }[]).map(({ path }) => path)
  }
  const isKnown = (gateway: StoredGateway, path: string) => async () =>
    (await pathsAt(gateway)).includes(path)
  const isStored = (path: string) => async () => {
    const text = "select 1 from portcullis_decisions where record->>'path' = $1"
    return (await server.query(text, [path], url)).length === 1
  }

  it('are those of all replicas, once each, and more than a process remembers', async () => {
    const [a, b] = gateways
    const paths = Array.from({ length: 20 }, (_, number) => `/denied/${number}`)
    for (const path of paths) assert.equal(await a.get(path), 403)
    assert.equal(await b.get('/denied/b'), 403)
    for (const path of [...paths, '/denied/b']) await until(`${path} is stored`, isStored(path))
    for (const gateway of gateways) {
      assert.deepEqual((await pathsAt(gateway)).toSorted(), [...paths, '/denied/b'].toSorted())
    }
    assert.deepEqual(await pathsAt(b, '&verdict=allowed'), [])
    // `%` and `_` are themselves, and the case does not matter.
    assert.deepEqual(await pathsAt(b, '&text=/DENIED/7'), ['/denied/7'])
    assert.deepEqual(await pathsAt(b, '&text=%25'), [])
    const { json } = await a.api('GET', '/decisions?limit=3')
    assert.deepEqual([json['more'], json['incomplete']], [true, undefined])
    const [{ id }] = (await b.api('GET', '/decisions?limit=1')).json['decisions'] as [
      { id: string },
    ]
    assert.equal((await a.api('GET', `/decisions/${id}`)).status, 200)
  })

  it('outlive the processes that made them', async () => {
    const [a] = gateways
    await a.restart()
    await until('it is ready', async () => (await a.ready()).startsWith('200'))
    await until('it knows', isKnown(a, '/denied/7'))
  })

  it('a database that does not respond delays neither requests nor the API', async () => {
    const [, b] = gateways
    proxy.hold()
    for (let count = 0; count < 50; count++) {
      assert.equal(await b.get(`/denied/held-${count}`), 403)
      assert.equal(await b.get('/home'), 200)
    }
    // The process still returns the records in its memory.
    await until('it knows', isKnown(b, '/denied/held-49'))
    proxy.release()
    await until('they are stored', isStored('/denied/held-0'))
    await until('all are stored', isStored('/denied/held-49'))
  })

  it('an unavailable database costs at most some records, and later ones are stored', async () => {
    const [, b] = gateways
    await server.stop('SIGKILL')
    assert.equal(await b.get('/denied/gone'), 403)
    await until('it knows', isKnown(b, '/denied/gone'))
    await server.start()
    await until('it is stored', isStored('/denied/gone'))
  })

  it('are stored in hourly partitions, and old ones are dropped', async () => {
    const old = new Date(Date.now() - 100 * 3_600_000)
    old.setUTCMinutes(0, 0, 0)
    const name = `portcullis_decisions_${old.toISOString().replace(/\D/g, '').slice(0, 10)}`
    const to = new Date(old.getTime() + 3_600_000)
    await server.query(
      `create table ${name} partition of portcullis_decisions
       for values from ('${old.toISOString()}') to ('${to.toISOString()}')`,
      [],
      url,
    )
    const [a] = gateways
    await a.restart()
    await until('it is ready', async () => (await a.ready()).startsWith('200'))
    assert.equal(await a.get('/denied/later'), 403)
    await until('it is stored', isStored('/denied/later'))
    const rows = await server.query(`select to_regclass('${name}') as found`, [], url)
    assert.equal((rows[0] as { readonly found: unknown } | undefined)?.found, null)
    const parts = await server.query(
      "select 1 from pg_inherits where inhparent = 'portcullis_decisions'::regclass",
      [],
      url,
    )
    assert.ok(parts.length >= 1 && parts.length <= 2)
  })

  it('are limited per hour, and so is the number that waits for a database', async () => {
    const record = (number: number) => ({ id: `n${number}`, time: new Date().toISOString() })
    let dropped = 0
    const options = { dropped: (records: number) => (dropped += records), failed: () => {} }
    const own = await server.database()
    const replica = openReplica(own)
    await replica.store.known
    const table = new DecisionTable({ ...options, url: own, maxPerHour: 700 })
    for (let number = 0; number < 1_000; number++) table.write(record(number))
    await until('the others are dropped', () => dropped === 300)
    await table.close()
    await replica.close()
    const text = 'select count(*)::int as count from portcullis_decisions'
    assert.deepEqual(await server.query(text, [], own), [{ count: 700 }])

    dropped = 0
    const nowhere = new DecisionTable({ ...options, url: 'postgres://a:b@127.0.0.1:1/x' })
    const started = performance.now()
    for (let number = 0; number < 100_000; number++) nowhere.write(record(number))
    assert.equal(dropped, 95_000)
    assert.ok(performance.now() - started < 5_000, 'nobody waits')
    await nowhere.close()
  })
})
