import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

const TOKEN = 'a-token-of-the-command-0123456789'

/** The configuration pages of the UI, as commands. */
describe('portcullis config', { skip: SKIPPED }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-config-'))
  const file = join(folder, 'edit.yaml')
  let server: TestServer
  let gateway: StoredGateway

  before(async () => {
    server = await sharedServer()
    gateway = await startGateway(await server.database(), {
      environment: { PORTCULLIS_ADMIN_TOKEN: TOKEN },
    })
  })

  after(async () => {
    await gateway?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  const run = (...args: readonly string[]) =>
    runWith(['config', ...args, '--admin', gateway.admin], {
      environment: { PORTCULLIS_ADMIN_TOKEN: TOKEN },
      readInput: () => 'routes: [{ name: home, policies: { directResponse: { status: 418 } } }]',
    })
  const done = async (...args: readonly string[]) => {
    const { code, out, err } = await run(...args)
    assert.equal(code, 0, `${args.join(' ')}: ${err}`)
    return out
  }

  it('shows the served configuration, as a whole and one resource at a time', async () => {
    assert.equal(parse(await done('get')).routes[0].name, 'home')
    assert.equal(parse(await done('get', 'routes/home')).policies.directResponse.body, 'home')
    assert.equal(JSON.parse(await done('get', 'routes/home', '--json')).origin, 'baseline')
    assert.match(await done('fields', 'routes/home'), /^\(all fields\): line \d+ of the file\n$/)
    assert.equal(await done('history'), 'No changes are stored.\n')
  })

  it('stores the differences to a file, once', async () => {
    const value = { ...parse(await done('get', 'routes/home')), hostnames: ['127.0.0.1'] }
    writeFileSync(file, JSON.stringify({ routes: [value] }))
    assert.equal(await done('apply', file, '--comment', 'names'), 'Stored as revision 1.\n')
    assert.equal(await done('apply', file), 'Nothing differs: nothing was stored.\n')
    assert.match(await done('fields', 'routes/home', '/hostnames'), /^\/hostnames: revision 1 by /)
    assert.match(
      await done('history', 'routes/home'),
      /^1 {2}20\S+ {2}\S+ {2}import {2}routes\/home: names\n$/,
    )
    assert.equal(await done('apply', '-'), 'Stored as revision 2.\n')
    await until('it is served', async () => (await gateway.get('/home')) === 418)
  })

  it('rolls back, deletes and reverts', async () => {
    assert.equal(await done('rollback', '1'), 'Stored as revision 3.\n')
    await until('it is back', async () => (await gateway.get('/home')) === 200)
    assert.equal(await done('delete', 'routes/home'), 'Stored as revision 4.\n')
    await until('it is gone', async () => (await gateway.get('/home')) === 404)
    assert.match(await done('edits'), /^# deleted: "routes\/home"$/m)
    assert.match(await done('fields', 'routes/home'), /revision 4 by .*removed\n$/)
    assert.equal(await done('revert', 'routes/home'), 'Stored as revision 5.\n')
    await until('it is as in the file', async () => (await gateway.get('/home')) === 200)
    assert.equal(await done('edits'), '{}\n')
  })

  for (const [what, args, code, said] of [
    ['an unknown resource', ['get', 'routes/none'], 1, /`none` not found in routes/],
    ['an invalid change', ['apply', 'FILE'], 1, /the configuration would be invalid/],
    ['a revision that there never was', ['rollback', '99'], 1, /revision 99 not found/],
    ['no resource', ['get', 'home'], 2, /`home` is not KIND\/ID/],
    ['no revision', ['rollback', 'first'], 2, /`first` is not a revision/],
    ['nothing', [], 2, /specify one of get, edits/],
    ['too much', ['edits', 'x'], 2, /unexpected argument `x`/],
    ['a file that is not there', ['apply', '/no/such/file'], 1, /cannot read/],
  ] as const) {
    it(`says what is wrong with ${what}`, async () => {
      writeFileSync(file, 'routes: [{ name: home, backends: [{ backend: none }] }]')
      const given = args.map((one) => (one === 'FILE' ? file : one))
      const { code: found, err } = await run(...given)
      assert.equal(found, code, err)
      assert.match(err, said)
    })
  }

  it('reports a missing token', async () => {
    const { code, err } = await runWith(['config', 'get', '--admin', gateway.admin])
    assert.equal(code, 1)
    assert.match(err, /send the token that the gateway printed/)
  })
})
