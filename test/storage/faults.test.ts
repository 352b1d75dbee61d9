import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, cpSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { type HeldProxy, startProxy } from './held-proxy.ts'
import { SKIPPED, startServer, type TestServer } from './postgres.ts'

const direct = (name: string, status: number, body = '') => ({
  name,
  matches: [{ path: { exact: `/${name}` } }],
  policies: { directResponse: { status, body } },
})
const put = (gateway: StoredGateway, name: string, status = 201, body = '') =>
  gateway.api('PUT', `/config/resources/routes/${name}`, direct(name, status, body))

async function servesAll(gateways: readonly StoredGateway[]): Promise<void> {
  for (const gateway of gateways) {
    for (let count = 0; count < 20; count++) assert.equal(await gateway.get('/home'), 200)
  }
}

describe('a database with problems', { skip: SKIPPED }, () => {
  let server: TestServer
  let proxy: HeldProxy
  let gateways: readonly [StoredGateway, StoredGateway]
  let url: string

  before(async () => {
    server = await startServer()
    url = await server.database()
    proxy = await startProxy(server)
    const at = proxy.urlOf(url)
    gateways = await Promise.all([startGateway(at), startGateway(at)])
  })

  after(async () => {
    await Promise.all((gateways ?? []).map((one) => one.remove()))
    await proxy?.close()
    await server?.remove()
  })

  const served = (name: string, status = 201) =>
    until(`all serve ${name}`, async () => {
      const statuses = await Promise.all(gateways.map((one) => one.get(`/${name}`)))
      return statuses.every((one) => one === status)
    })

  it('slow: requests do not wait, and the write ends when the database responds', async () => {
    proxy.hold()
    let outcome: number | undefined
    const writing = put(gateways[0], 'slow').then(({ status }) => {
      outcome = status
    })
    await servesAll(gateways)
    assert.equal(outcome, undefined, 'the database said nothing yet')
    proxy.release()
    await writing
    assert.ok(outcome === 200 || outcome === 503, String(outcome))
    if (outcome !== 200)
      await until('stored', async () => (await put(gateways[0], 'slow')).status === 200)
    await served('slow')
  })

  it('out of connections: writes report it, requests are not affected, and it recovers', async () => {
    const name = new URL(url.replace(/@[^/]+\//, '@host/')).pathname.slice(1)
    await server.query(`create role few login password 'few' connection limit 1`)
    await server.query(`alter database ${name} owner to few`)
    const all = await server.query(
      `select format('alter table %I owner to few', tablename) as text from pg_tables where schemaname = 'public'`,
      [],
      url,
    )
    for (const { text } of all as readonly { readonly text: string }[]) {
      await server.query(text, [], url)
    }
    const few = proxy.urlOf(url).replace(/\/\/[^@]+@/, '//few:few@')
    // The gateway listens on its only connection, and has none left for writes.
    const gateway = await startGateway(few)
    try {
      await until('it serves what is stored', async () => (await gateway.get('/slow')) === 201)
      const rejected = await put(gateway, 'many')
      assert.equal(rejected.status, 503, rejected.text)
      assert.match(rejected.text, /connections/)
      await servesAll([gateway])
      await server.query('alter role few connection limit -1')
      await until('there are some', async () => (await put(gateway, 'many')).status === 200)
    } finally {
      await gateway.remove()
    }
    await served('many')
  })

  it('failed over: another server at the same address has all acknowledged changes', async () => {
    assert.equal((await put(gateways[0], 'before')).status, 200)
    await served('before')
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-pg-'))
    await server.stop('SIGINT')
    cpSync(server.folder, folder, { recursive: true })
    execFileSync('chown', ['-R', '--reference', server.folder, folder])
    const other = await startServer({ folder })
    const old = server
    server = other
    rmSync(old.folder, { recursive: true, force: true })
    await servesAll(gateways)
    proxy.lead(other)
    await until('a write is stored', async () => (await put(gateways[1], 'after')).status === 200)
    await served('before')
    await served('after')
    for (const one of gateways) {
      await until('it is ready', async () => (await one.ready()) === '200 ready\n')
    }
  })
})

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const UNMOUNTABLE = SKIPPED || (canMount() ? false : 'a small disk needs the right to mount one')

describe('a database whose disk is full', { skip: UNMOUNTABLE }, () => {
  let folder: string
  let server: TestServer
  let gateway: StoredGateway

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'portcullis-pg-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128m', 'none', folder])
    server = await startServer({ folder })
    gateway = await startGateway(await server.database())
  })

  after(async () => {
    await gateway?.remove()
    await server?.stop('SIGQUIT')
    execFileSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  })

  it('rejects writes and keeps serving; acknowledged changes are there when there is space again', async () => {
    assert.equal((await put(gateway, 'kept')).status, 200)
    const filler = join(folder, 'filler')
    fill(filler)
    const acknowledged: string[] = []
    let rejected: Awaited<ReturnType<typeof put>> | undefined
    for (let number = 0; number < 400 && rejected === undefined; number++) {
      const name = `large-${number}`
      // Incompressible data needs as much space as its length.
      const text = randomBytes(45_000).toString('base64')
      const reply = await put(gateway, name, 202, text)
      if (reply.status === 200) acknowledged.push(name)
      else rejected = reply
    }
    assert.equal(rejected?.status, 503, rejected?.text ?? 'every write was stored')
    await servesAll([gateway])
    assert.equal(await gateway.get('/kept'), 201)
    rmSync(filler)
    await until('a write is stored', async () => (await put(gateway, 'later')).status === 200)
    for (const [name, status] of [
      ['kept', 201],
      ['later', 201],
      ...acknowledged.map((one) => [one, 202] as const),
    ] as const) {
      await until(`${name} is served`, async () => (await gateway.get(`/${name}`)) === status)
    }
  })
})

/** Uses up all free space. */
function fill(path: string): void {
  const file = openSync(path, 'w')
  for (let size = 1 << 20; size >= 1; size >>= 4) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size))
    } catch {
      // A smaller piece may still fit.
    }
  }
  closeSync(file)
}
