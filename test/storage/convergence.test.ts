import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import dns from 'node:dns'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort, until } from '../cli/running.ts'
import { startProxy } from './held-proxy.ts'
import { SKIPPED, startServer, type TestServer } from './postgres.ts'
import { openReplica, type Replica } from './replica.ts'

const route = (name: string) => ({ name, backends: [{ host: 'x:80' }] })
const set = (name: string) =>
  ({ action: 'set', kind: 'routes', id: name, value: route(name) }) as const

type Looked = (error: Error | null, found: unknown, family?: number) => void

describe('replicas of one database', { skip: SKIPPED }, () => {
  let server: TestServer
  const open: Replica[] = []
  const opened = async (url: string) => {
    const replica = openReplica(url)
    open.push(replica)
    await replica.store.known
    await until('it is connected', () => replica.store.state.isConnected)
    return replica
  }

  before(async () => {
    server = await startServer()
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((replica) => replica.close()))
  })

  after(() => server?.remove())

  /** Milliseconds until another replica sees a change. */
  async function delayOf(writer: Replica, reader: Replica, name: string): Promise<number> {
    const { revision } = reader.store.state
    assert.equal((await writer.write(set(name))).kind, 'stored')
    const written = performance.now()
    while (reader.store.state.revision === revision) {
      if (performance.now() - written > 60_000) assert.fail(`${name} does not arrive`)
      await wait(1)
    }
    return performance.now() - written
  }

  it('are notified of a change immediately, long before they would poll for it', async () => {
    const url = await server.database()
    const [a, b] = [await opened(url), await opened(url)]
    const delays: number[] = []
    for (let count = 0; count < 25; count++) delays.push(await delayOf(a, b, `told-${count}`))
    const [median = 0] = delays.toSorted((x, y) => x - y).slice(12)
    // Polling alone would take 2.5 seconds or more; a busy machine may delay a few.
    assert.ok(median < 100, delays.map(Math.round).join(' '))
  })

  it('poll for changes of which they were not notified', async () => {
    const url = await server.database()
    const [a, b] = [await opened(url), await opened(url)]
    // As behind a pooler that loses notifications: no replica gets one for this change.
    const value = JSON.stringify(route('unheard'))
    await server.query(
      `insert into portcullis_changes values (1, 'change', 'somebody', '');
       insert into portcullis_history (revision, kind, id, state, value, created)
         values (1, 'routes', 'unheard', 'set', '${value}', 1);
       insert into portcullis_resources (revision, kind, id, state, value, created)
         values (1, 'routes', 'unheard', 'set', '${value}', 1)`,
      [],
      url,
    )
    const [from, end] = [performance.now(), () => performance.now() - from]
    await until('they have it', () => [a, b].every(({ store }) => store.state.revision === 1))
    assert.ok(end() < 20_000, String(end()))
    assert.deepEqual(
      b.store.stored.map(({ id, author }) => [id, author]),
      [['unheard', 'somebody']],
    )
  })

  it('migrate tables of an older version, once, and keep their content', async () => {
    const url = await server.database()
    const first = await opened(url)
    await first.write(set('kept'))
    await Promise.all(open.splice(0).map((replica) => replica.close()))
    const versions = () => server.query('select version from portcullis_schema order by 1', [], url)
    const all = await versions()
    // The schema before the last two migrations.
    const old = all.length - 2
    await server.query(
      `drop table portcullis_user_tokens, portcullis_usage;
       alter table portcullis_budgets drop column budget;
       delete from portcullis_schema where version > ${old}`,
      [],
      url,
    )
    const replicas = await Promise.all(Array.from({ length: 5 }, () => opened(url)))
    assert.deepEqual(await versions(), all)
    for (const { store, errors } of replicas) {
      assert.deepEqual(errors, [])
      assert.deepEqual(
        store.stored.map(({ id }) => id),
        ['kept'],
      )
    }
    const found = await server.query(
      `select to_regclass('portcullis_user_tokens') is not null as tokens,
         to_regclass('portcullis_usage') is not null as usage`,
      [],
      url,
    )
    assert.deepEqual(found, [{ tokens: true, usage: true }])
  })

  it('follow the name of the database to another address', async (context) => {
    const url = await server.database()
    const name = url.slice(url.lastIndexOf('/') + 1)
    const port = await freePort()
    const first = await startProxy(server, { host: '127.0.0.1', port })
    let address = '127.0.0.1'
    const { lookup } = dns
    context.mock.method(dns, 'lookup', (host: string, options: unknown, done: Looked) => {
      if (host !== 'database.test') return lookup(host, options as object, done as never)
      const isAll = typeof options === 'object' && (options as { all?: boolean })?.all === true
      const found = isAll ? [{ address, family: 4 }] : address
      return setImmediate(() => done(null, found, 4))
    })
    const at = url.replace(/@[^/]+\//, `@database.test:${port}/`)
    const [a, b] = [await opened(at), await opened(at)]
    assert.equal((await a.write(set('before'))).kind, 'stored')
    await until('both have it', () => b.store.state.revision === 1)
    // The standby, with all acknowledged changes, at another address; nothing listens at the old
    // one.
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-pg-'))
    await server.stop('SIGINT')
    cpSync(server.folder, folder, { recursive: true })
    execFileSync('chown', ['-R', '--reference', server.folder, folder])
    const old = server
    server = await startServer({ folder })
    rmSync(old.folder, { recursive: true, force: true })
    await first.close()
    await until('it is noticed', () => !a.store.state.isConnected && !b.store.state.isConnected)
    assert.equal((await a.write(set('during'))).kind, 'unavailable')
    assert.equal(b.store.stored.length, 1, 'it keeps what it knows')
    const second = await startProxy(server, { host: '127.0.0.2', port })
    try {
      address = '127.0.0.2'
      await until('both are back', () => a.store.state.isConnected && b.store.state.isConnected)
      assert.equal((await a.write(set('after'))).kind, 'stored')
      await until('the other has it', () => b.store.state.revision === 2)
      assert.deepEqual(b.store.stored.map(({ id }) => id).toSorted(), ['after', 'before'])
      const stored = await server.query(
        'select id from portcullis_resources order by 1',
        [],
        server.url.replace(/\/postgres$/, `/${name}`),
      )
      assert.deepEqual(stored, [{ id: 'after' }, { id: 'before' }])
    } finally {
      await Promise.all(open.splice(0).map((replica) => replica.close()))
      await second.close()
    }
  })
})
