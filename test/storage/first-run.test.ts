import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { openEmbedded } from '../../src/cli/embedded-storage.ts'
import { startEmbedded } from '../../src/sources/database/embedded-server.ts'
import { until } from '../cli/running.ts'
import { PORTCULLIS } from '../programs.ts'
import { BINARIES, SKIPPED } from './postgres.ts'

const API = 'http://127.0.0.1:15000/api'
const folder = mkdtempSync(join(tmpdir(), 'portcullis-first-'))
chmodSync(folder, 0o755)
after(() => rmSync(folder, { recursive: true, force: true }))

/** The example has fixed ports: if another process uses one, the test cannot run. */
function isFree(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    () => false,
    () => true,
  )
}

async function hasPorts(context: TestContext): Promise<boolean> {
  const free = await Promise.all([4000, 4001, 15_000, 15_020, 15_021].map(isFree))
  if (free.includes(false)) context.skip('a port of the example is in use')
  return !free.includes(false)
}

/** Runs the demo, in its own data folder. Returns the output. */
async function runExample(
  data: string,
  use: () => Promise<void>,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<string> {
  const child = spawn(process.execPath, [PORTCULLIS, 'demo'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], PORTCULLIS_DATA: data },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (text += bytes))
  const exit = new Promise((done) => child.once('exit', done))
  try {
    await until('it is ready', () =>
      fetch('http://127.0.0.1:15021/readyz').then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    await use()
  } finally {
    child.kill(signal)
    await exit
  }
  return text
}

function put(name: string): Promise<Response> {
  return fetch(`${API}/config/resources/routes/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name,
      matches: [{ path: { exact: `/${name}` } }],
      policies: { directResponse: { status: 202 } },
    }),
  })
}

async function isServed(name: string): Promise<void> {
  await until(`${name} is served`, async () => {
    const reply = await fetch(`http://127.0.0.1:4000/${name}`)
    await reply.text()
    return reply.status === 202
  })
}

describe('the demo', { skip: SKIPPED }, () => {
  it('stores changes in its own database, and loads them again', async (context) => {
    if (!(await hasPorts(context))) return
    const data = join(folder, 'data')
    const first = await runExample(data, async () => {
      const reply = await put('mine')
      assert.equal(reply.status, 200, await reply.text())
      await isServed('mine')
      const own = await fetch('http://127.0.0.1:4000/public/hello')
      assert.equal(own.status, 200, await own.text())
    })
    assert.match(first, /ports=\[?"?4000/)
    assert.doesNotMatch(first, /read-only/)
    // The server outlives a killed gateway, and the next gateway uses it again.
    await runExample(
      data,
      async () => {
        await isServed('mine')
        assert.equal((await put('killed')).status, 200)
      },
      'SIGKILL',
    )
    await runExample(data, async () => {
      await isServed('mine')
      await isServed('killed')
    })
    assert.equal(isRunning(data), false, 'it stopped the server that it found')
    const mode = statSync(join(data, 'postgres')).mode & 0o777
    assert.equal(mode, 0o700)
  })

  it('logs in one line why it is read-only, and serves', async (context) => {
    if (!(await hasPorts(context))) return
    const data = join(folder, 'a-file')
    writeFileSync(data, '')
    const text = await runExample(data, async () => {
      const reply = await put('mine')
      assert.equal(reply.status, 403)
      assert.match(await reply.text(), /read-only/)
      const own = await fetch('http://127.0.0.1:4000/public/hello')
      assert.equal(own.status, 200, await own.text())
    })
    assert.equal(text.split('\n').filter((line) => line.includes('read-only')).length, 1, text)
  })

  it('logs the same where there is no PostgreSQL, with what to configure instead', async () => {
    const lines: string[] = []
    const options = { environment: {}, err: (line: string) => void lines.push(line) }
    const opened = await openEmbedded(options, async () => undefined)
    assert.equal(opened, undefined)
    assert.deepEqual(lines, [
      'This gateway is read-only because it cannot store changes: this build has no PostgreSQL; set `config.database` and `config.storage.mode: database` to use one\n',
    ])
  })
})

function isRunning(data: string): boolean {
  return (
    statSync(join(data, 'postgres/data/postmaster.pid'), { throwIfNoEntry: false }) !== undefined
  )
}

const asRoot = process.getuid?.() === 0 ? SKIPPED : 'only root has a folder closed to the server'

it('a server that its user cannot execute is copied', { skip: asRoot }, async () => {
  const found = BINARIES as NonNullable<typeof BINARIES>
  const native = resolve(dirname(found.postgres), '..')
  const closed = join(folder, 'closed')
  mkdirSync(closed, { mode: 0o700 })
  cpSync(native, join(closed, 'native'), { recursive: true, verbatimSymlinks: true })
  const moved = (file: string) => join(closed, 'native', relative(native, file))
  const server = await startEmbedded(join(folder, 'copied'), {
    initdb: moved(found.initdb),
    postgres: moved(found.postgres),
  })
  const owner = statSync(`/proc/${server.pid}`, { throwIfNoEntry: false })?.uid
  await server.stop()
  assert.notEqual(owner, 0)
})
