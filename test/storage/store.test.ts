import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonValue } from '../../src/model/json.ts'
import { type Change, etagOf } from '../../src/sources/database/configuration.ts'
import { startProxy } from './held-proxy.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { openReplica, type Replica } from './replica.ts'
import { sharedServer } from './shared-server.ts'

const route = (name: string, more: object = {}): JsonValue => ({
  name,
  backends: [{ host: 'x:80' }],
  ...more,
})

function set(kind: Change['kind'], id: string, value: JsonValue, ifMatch?: string): Change {
  return { action: 'set', kind, id, value, ifMatch }
}

function find({ configuration }: Replica, id: string) {
  return configuration.view()?.merged.resources.find((one) => one.id === id)
}

async function until(what: string, test: () => boolean): Promise<void> {
  for (let i = 0; i < 1_200; i++) {
    if (test()) return
    await wait(25)
  }
  assert.fail(`waited in vain for ${what}`)
}

describe('a store', { skip: SKIPPED }, () => {
  let server: TestServer
  const open: Replica[] = []
  const opened = async (url: string, options?: Parameters<typeof openReplica>[1]) => {
    const replica = openReplica(url, options)
    open.push(replica)
    await replica.store.known
    return replica
  }

  before(async () => {
    server = await sharedServer()
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((replica) => replica.close()))
  })

  it('is created once by replicas that start together', async () => {
    const url = await server.database()
    const all = await Promise.all(Array.from({ length: 6 }, () => opened(url)))
    await until('all are connected', () => all.every(({ store }) => store.state.isConnected))
    assert.deepEqual(
      all.map(({ errors }) => errors),
      all.map(() => []),
    )
  })

  it('delivers an edit to the other replicas, with its author', async () => {
    const url = await server.database()
    const [a, b] = [await opened(url), await opened(url)]
    await until('both are connected', () => b.store.state.isConnected)
    assert.deepEqual(await a.write(set('routes', 'new', route('new'))), {
      kind: 'stored',
      revision: 1,
    })
    assert.equal(find(a, 'new')?.origin, 'database')
    await until('it is there', () => find(b, 'new') !== undefined)
    assert.equal(find(b, 'new')?.stored?.author, 'alice')
    assert.equal(b.store.state.revision, 1)
  })

  it('requires the base revision of an edit, and shows both versions of a conflict', async () => {
    const url = await server.database()
    const [a, b] = [await opened(url), await opened(url, { author: 'bob' })]
    const known = etagOf(find(a, 'orders') ?? assert.fail())
    const unconditional = await a.write(set('routes', 'orders', route('orders')))
    assert.equal(unconditional.kind === 'failed' && unconditional.failure.why, 'unconditional')
    assert.equal((await b.write(set('routes', 'orders', route('orders'), known))).kind, 'stored')
    const late = await a.write(
      set('routes', 'orders', route('orders', { hostnames: ['a'] }), known),
    )
    assert.ok(late.kind === 'failed' && late.failure.why === 'conflict')
    assert.equal(late.failure.now?.stored?.author, 'bob')
    assert.deepEqual(late.failure.wanted, route('orders', { hostnames: ['a'] }))
  })

  it('loses no concurrent updates', async () => {
    const url = await server.database()
    const replicas = [await opened(url), await opened(url), await opened(url)]
    const numbers = (replica: Replica) =>
      ((find(replica, 'shared')?.value as { hostnames?: string[] })?.hostnames ?? []) as string[]
    await replicas[0]?.write(set('routes', 'shared', route('shared')))
    let conflicts = 0
    const add = async (replica: Replica, name: string) => {
      for (;;) {
        const now = find(replica, 'shared')
        if (now === undefined) {
          await wait(5)
          continue
        }
        const value = route('shared', { hostnames: [...numbers(replica), name] })
        const outcome = await replica.write(set('routes', 'shared', value, etagOf(now)))
        if (outcome.kind === 'stored') return
        assert.equal(outcome.kind === 'failed' && outcome.failure.why, 'conflict')
        conflicts++
        await wait(Math.random() * 20)
      }
    }
    const names = Array.from({ length: 24 }, (_, i) => `h${i}.test`)
    await Promise.all(names.map((name, i) => add(replicas[i % 3] as Replica, name)))
    await until('all agree', () => replicas.every((one) => numbers(one).length === 24))
    assert.deepEqual(numbers(replicas[2] as Replica).sort(), names.sort())
    assert.ok(conflicts > 0)
  })

  it('rejects two separately valid edits that are invalid together', async () => {
    const url = await server.database()
    const [a, b] = [await opened(url), await opened(url)]
    for (let round = 0; round < 8; round++) {
      const [name, user] = [`backend-${round}`, `user-${round}`]
      const made = await a.write(set('backends', name, { name, host: 'b:80' }))
      assert.equal(made.kind, 'stored')
      await until('b knows it', () => find(b, name) !== undefined)
      const outcomes = await Promise.all([
        a.write({ action: 'delete', kind: 'backends', id: name, ifMatch: '*' }),
        b.write(set('routes', user, { name: user, backends: [{ backend: name }] })),
      ])
      const kinds = outcomes.map(({ kind }) => kind).sort()
      assert.deepEqual(kinds, ['failed', 'stored'])
      const failed = outcomes.find((one) => one.kind === 'failed')
      assert.equal(failed?.kind === 'failed' && failed.failure.why, 'invalid')
    }
  })

  it('stores all changes of one request, or none', async () => {
    const a = await opened(await server.database())
    const outcome = await a.write(
      set('routes', 'good', route('good')),
      set('routes', 'bad', { name: 'bad', backends: [{ backend: 'nowhere' }] }),
    )
    assert.equal(outcome.kind, 'failed')
    assert.equal(find(a, 'good'), undefined)
    assert.equal(a.store.state.revision, 0)
  })

  it('shows its history, and rolls back to any revision', async () => {
    const a = await opened(await server.database())
    const key = { kind: 'routes', id: 'orders' } as const
    await a.write(set('routes', 'orders', route('orders', { hostnames: ['one'] }), '*'))
    await a.write(set('routes', 'orders', route('orders', { hostnames: ['two'] }), '*'))
    await a.write({ action: 'delete', ...key, ifMatch: '*' })
    assert.equal(find(a, 'orders'), undefined)
    const entries = await a.store.history({ ...key, limit: 10 })
    assert.deepEqual(
      entries.map(({ revision, state, author }) => [revision, state, author]),
      [
        [3, 'hidden', 'alice'],
        [2, 'set', 'alice'],
        [1, 'set', 'alice'],
      ],
    )
    assert.deepEqual(entries.at(-1)?.before, { name: 'orders', backends: [{ host: 'orders:80' }] })
    assert.deepEqual(entries[1]?.before, route('orders', { hostnames: ['one'] }))
    const by = { author: 'bob', action: 'rollback', comment: '' }
    const outcome = await a.configuration.rollback(a.store, 1, by)
    assert.deepEqual(outcome, { kind: 'stored', revision: 4 })
    assert.deepEqual(find(a, 'orders')?.value, route('orders', { hostnames: ['one'] }))
    await a.configuration.rollback(a.store, 0, by)
    assert.equal(find(a, 'orders')?.origin, 'baseline')
    const nowhere = await a.configuration.rollback(a.store, 99, by)
    assert.equal(nowhere.kind === 'failed' && nowhere.failure.why, 'no-revision')
  })

  it('encrypts secrets, shows none, accepts them by reference, and rotates keys', async () => {
    const url = await server.database()
    const [first, second] = [randomBytes(32), randomBytes(32)]
    const secret = 'canary-of-the-store'
    const value = {
      name: 'guarded',
      backends: [{ host: 'x:80', policies: { backendAuth: { key: secret } } }],
    }
    const bare = await opened(url)
    assert.equal((await bare.write(set('routes', 'guarded', value))).kind, 'no-key')

    const a = await opened(url, { keys: [first] })
    assert.equal((await a.write(set('routes', 'guarded', value))).kind, 'stored')
    const raw = async () =>
      JSON.stringify([
        await server.query('select * from portcullis_resources', [], url),
        await server.query('select * from portcullis_history', [], url),
      ])
    assert.ok(!(await raw()).includes(secret))
    assert.ok((await raw()).includes('$sealed'))

    const now = find(a, 'guarded') ?? assert.fail()
    assert.deepEqual(now.value, value)
    const shown = a.configuration.references.hide('routes', now.value)
    assert.ok(!JSON.stringify(shown).includes(secret))
    const edited = { ...(shown as object), hostnames: ['a.test'] } as JsonValue
    assert.equal((await a.write(set('routes', 'guarded', edited, etagOf(now)))).kind, 'stored')
    assert.deepEqual(find(a, 'guarded')?.value, { ...value, hostnames: ['a.test'] })
    const other = set('routes', 'other', { ...(shown as object), name: 'other' } as JsonValue)
    const stolen = await a.write(other)
    assert.equal(stolen.kind === 'failed' && stolen.failure.why, 'unknown-secret')

    const rotating = await opened(url, { keys: [second, first] })
    assert.equal(await rotating.store.rotate(), 3)
    assert.equal(await rotating.store.rotate(), 0)
    const after = await opened(url, { keys: [second] })
    assert.deepEqual(find(after, 'guarded')?.value, { ...value, hostnames: ['a.test'] })
    const entries = await after.store.history({ limit: 10 })
    assert.ok(JSON.stringify(entries).includes(secret))

    const without = openReplica(url)
    open.push(without)
    await until('it says so', () => /cannot be decrypted/.test(without.store.state.problem ?? ''))
    assert.deepEqual(without.store.stored, [])
  })

  it('works without the database, fails writes cleanly, and recovers', async () => {
    const url = await server.database()
    const stateFile = join(mkdtempSync(join(tmpdir(), 'portcullis-state-')), 'state.json')
    const keys = [randomBytes(32)]
    const a = await opened(url, { stateFile, keys })
    const value = route('kept', { policies: { backendAuth: { key: 'canary-in-a-file' } } })
    const { policies: _, ...plain } = value as Record<string, JsonValue>
    await a.write(set('routes', 'kept', plain))
    await server.stop('SIGQUIT')
    await until('it is noticed', () => !a.store.state.isConnected)
    assert.ok(find(a, 'kept'))
    const outcome = await a.write(set('routes', 'late', route('late')))
    assert.equal(outcome.kind, 'unavailable')
    assert.ok(outcome.kind === 'unavailable' && !outcome.isUnknown)

    const restarted = await opened(url, { stateFile, keys })
    assert.equal(restarted.store.state.isConnected, false)
    assert.ok(find(restarted, 'kept'))
    assert.ok(readFileSync(stateFile, 'utf8').includes('kept'))

    await server.start()
    await until(
      'both are back',
      () => a.store.state.isConnected && restarted.store.state.isConnected,
    )
    assert.equal((await a.write(set('routes', 'late', route('late')))).kind, 'stored')
    await until('the other has it', () => find(restarted, 'late') !== undefined)
  })

  it('waits if the database is unavailable from the start and nothing is known', async () => {
    const url = await server.database()
    const replica = openReplica(`${url.slice(0, url.lastIndexOf('/'))}/no_such_database`)
    open.push(replica)
    await until('it says why', () => replica.errors.length > 0)
    assert.match(replica.errors[0] ?? '', /does not exist/)
    const first = await Promise.race([
      replica.store.known.then(() => 'known'),
      wait(100, 'waiting'),
    ])
    assert.equal(first, 'waiting')
  })

  it('retries after a growing delay, wherever the database is missing', async () => {
    const nowhere = openReplica('postgres://a:b@127.0.0.1:1/x')
    open.push(nowhere)
    await until('it says why', () => nowhere.errors.length > 0)
    const [began, earlier] = [performance.now(), nowhere.errors.length]
    await wait(600)
    // The retries are at least 100, 200, 400 and 800 ms apart.
    const retries = Math.ceil((performance.now() - began) / 200)
    assert.ok(nowhere.errors.length <= earlier + retries, `${nowhere.errors.length}`)
    const started = performance.now()
    await nowhere.close()
    assert.ok(performance.now() - started < 5_000)
  })

  it('treats every string of a caller as data', async () => {
    const a = await opened(await server.database())
    const id = `x'); drop table portcullis_resources; --`
    const outcome = await a.write(set('routes', id, route(id)))
    // No route name may contain such characters; what matters is that the database did not run it.
    assert.equal(outcome.kind, 'failed')
    assert.deepEqual(await a.store.history({ kind: id, id, limit: 1 }), [])
    const text = `'; \\ \u0000 "; select pg_sleep(9); $$`
    const odd = { name: 'odd', policies: { directResponse: { status: 200, body: text } } }
    assert.equal((await a.write(set('routes', 'odd', odd))).kind, 'stored')
    assert.deepEqual(find(a, 'odd')?.value, odd)
  })

  it('reads only changes, not all that is stored', async () => {
    const proxy = await startProxy(server)
    try {
      const url = proxy.urlOf(await server.database())
      const [a, b] = [await opened(url), await opened(url)]
      const names = Array.from({ length: 1_000 }, (_, n) => `route-${n}`)
      const all = names.map((name) => set('routes', name, route(name)))
      assert.equal((await a.write(...all)).kind, 'stored')
      await until('all are there', () => b.store.stored.length === names.length)
      const untouched = b.store.stored.find(({ id }) => id === 'route-7')
      const before = proxy.bytes()
      const other = set('routes', 'route-1', route('route-1', { hostnames: ['a'] }), '*')
      assert.equal((await a.write(other, { action: 'revert', ...ROUTE_2 })).kind, 'stored')
      await until('the other replica has it', () => b.store.state.revision === 2)
      assert.ok(proxy.bytes() - before < 20_000, `${proxy.bytes() - before} bytes`)
      assert.equal(
        b.store.stored.find(({ id }) => id === 'route-7'),
        untouched,
      )
      assert.deepEqual(find(b, 'route-1')?.value, route('route-1', { hostnames: ['a'] }))
      assert.equal(find(b, 'route-2'), undefined)
      assert.equal(b.store.stored.length, names.length - 1)
    } finally {
      await Promise.all(open.splice(0).map((replica) => replica.close()))
      await proxy.close()
    }
  })

  it('fails only a write whose connection ends between two statements', async () => {
    const url = await server.database()
    const a = await opened(url)
    const failures: unknown[] = []
    const fail = (error: unknown) => failures.push(error)
    process.on('uncaughtException', fail)
    try {
      const outcome = await a.store.change(
        async () => {
          const others = 'datname = current_database() and pid <> pg_backend_pid()'
          await server.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where ${others}`,
            [],
            url,
          )
          await wait(100)
          return { rows: [] }
        },
        { author: 'alice', action: 'set', comment: '' },
      )
      assert.equal(outcome.kind, 'unavailable')
      await until('it is back', () => a.store.state.isConnected)
      assert.equal((await a.write(set('routes', 'new', route('new')))).kind, 'stored')
      assert.deepEqual(failures, [])
    } finally {
      process.off('uncaughtException', fail)
    }
  })

  it('is read anew if its history differs from the known one', async () => {
    const url = await server.database()
    const [a, b] = [await opened(url), await opened(url)]
    for (const name of ['one', 'two', 'three']) await a.write(set('routes', name, route(name)))
    await until('it is known', () => b.store.state.revision === 3)
    // As after a failover that lost the last changes, followed by other changes.
    for (const table of ['resources', 'history', 'changes']) {
      await server.query(`delete from portcullis_${table} where revision > 1`, [], url)
    }
    const elsewhere = await opened(url, { author: 'bob' })
    for (const name of ['second', 'third', 'fourth']) {
      assert.equal((await elsewhere.write(set('routes', name, route(name)))).kind, 'stored')
    }
    const names = ['fourth', 'one', 'orders', 'second', 'third']
    for (const replica of [a, b]) {
      await until('it has what the database has', () => replica.store.state.revision === 4)
      const shown = replica.configuration.view()?.merged.resources ?? []
      const routes = shown.filter(({ kind }) => kind === 'routes').map(({ id }) => id)
      assert.deepEqual(routes.sort(), names)
    }
    // Later writes build on that state, too.
    assert.equal((await a.write(set('routes', 'fifth', route('fifth')))).kind, 'stored')
    await until('it is there', () => find(b, 'fifth') !== undefined)
  })
})

const ROUTE_2 = { kind: 'routes', id: 'route-2', ifMatch: '*' } as const
