import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { verifyChain } from '../../src/telemetry/decision-chain-check.ts'
import { PORTCULLIS } from '../programs.ts'
import { freePort } from './gateway.ts'

/** Room for the first records; the limit falls in the middle of a line. */
const ROOM = 5_000

/** A file size limit simulates a full disk without filling one. */
function give(child: ChildProcess, room: string): void {
  execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${room}:`])
}

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version'])
    return true
  } catch {
    return false
  }
}

describe('decisions on a full disk', { skip: !hasPrlimit() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-full-'))
  const config = join(folder, 'gateway.yaml')
  const path = join(folder, 'decisions.jsonl')
  let child: ChildProcess
  let log = ''
  let http = 0
  let ready = 0

  async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let i = 0; i < 1_200; i++) {
      if (await holds()) return
      await wait(50)
    }
    assert.fail(`${what}\n${log}`)
  }

  async function start(): Promise<void> {
    log = ''
    child = spawn(process.execPath, [PORTCULLIS, 'run', '-f', config])
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        log += chunk
      })
    }
    const address = `http://127.0.0.1:${ready}/healthz/ready`
    const isReady = async () => (await fetch(address).catch(() => undefined))?.status === 200
    await until('it never was ready', isReady)
  }

  function stopped(signal: NodeJS.Signals): Promise<unknown> {
    const exit = new Promise((resolve) => child.on('exit', resolve))
    child.kill(signal)
    return exit
  }

  async function deny(times: number): Promise<readonly string[]> {
    const ids: string[] = []
    for (let i = 0; i < times; i++) {
      const response = await fetch(`http://127.0.0.1:${http}/orders`)
      await response.text()
      assert.equal(response.status, 403)
      ids.push(response.headers.get('x-request-id') as string)
    }
    return ids
  }

  const failures = () => log.split('\n').filter((line) => line.includes('\tdecisions ')).length

  const written = () =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as { readonly entry: string; readonly id?: string })
      .flatMap(({ entry, id }) => (entry === 'decision' ? [id as string] : []))

  before(async () => {
    const [port, readiness] = await Promise.all([freePort(), freePort()])
    http = port
    ready = readiness
    writeFileSync(
      config,
      `config:
  workers: 1
  adminAddr: off
  statsAddr: off
  readinessAddr: 127.0.0.1:${readiness}
  decisions: { file: { path: decisions.jsonl } }
gateways: { default: { port: ${port} } }
routes:
- name: orders
  policies: { authorization: { rules: [{ deny: request.path.startsWith('/orders') }] } }
  backends: [{ host: '127.0.0.1:1' }]
`,
    )
  })

  after(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })

  it('delays no request, logs the failure, and writes every record once there is room', async () => {
    await start()
    const before = await deny(2)
    await until('nothing was written', () => written().length === 2)
    give(child, String(ROOM))
    const during = await deny(40)
    // Fails at least twice, since the remains of one attempt must not block the next.
    await until('it never failed twice', () => failures() >= 2)
    assert.match(log, /\tdecisions .*error=.*EFBIG/)
    give(child, 'unlimited')
    const later = await deny(3)
    await until('it never went on', () => written().length === 45)
    assert.equal(await stopped('SIGTERM'), 0)
    assert.deepEqual(written(), [...before, ...during, ...later])
    const { faults, notes } = await verifyChain([path])
    assert.deepEqual([faults, notes], [[], []])
  })

  it('logs the number of lost records if the gateway exits before there is room', async () => {
    await start()
    give(child, String(readFileSync(path).length + 100))
    await deny(10)
    await until('it never failed', () => failures() >= 1)
    assert.equal(await stopped('SIGTERM'), 0)
    assert.match(log, /\tdecisions .*lost=10/)
    assert.deepEqual((await verifyChain([path])).faults, [])
  })

  it('continues after being killed while the disk is full', async () => {
    await start()
    give(child, String(readFileSync(path).length + 100))
    await deny(10)
    await until('it never failed', () => failures() >= 1)
    await stopped('SIGKILL')
    await start()
    const ids = await deny(1)
    await until('nothing was written', () => written().includes(ids[0] as string))
    assert.equal(await stopped('SIGTERM'), 0)
    assert.deepEqual((await verifyChain([path])).faults, [])
  })
})
