import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { freePort, type Running, startWith, status, until } from './running.ts'

const RULES = 5_000

describe('explaining a request by a running gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-explained-'))
  const running: Running[] = []
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL')
  })
  after(() => rmSync(folder, { recursive: true }))

  /** Every process of Node.js that inherits this writes a line when it starts. */
  const started = join(folder, 'started')
  const recorder = join(folder, 'recorder.cjs')
  writeFileSync(
    recorder,
    `require('node:fs').appendFileSync(${JSON.stringify(started)}, process.argv.slice(1).join(' ') + '\\n')\n`,
  )
  const processes = () => readFileSync(started, 'utf8').trim().split('\n')

  it('starts no process, and requests are served meanwhile', async () => {
    const [http, admin, ready] = await Promise.all([freePort(), freePort(), freePort()])
    const file = join(folder, 'gateway.yaml')
    const rules = Array.from({ length: RULES }, (_, i) => `{allow: "request.path == '/${i}'"}`)
    writeFileSync(
      file,
      `config: {workers: 1, adminAddr: "127.0.0.1:${admin}", statsAddr: "off", readinessAddr: "127.0.0.1:${ready}"}
gateways: {default: {port: ${http}}}
routes:
- name: a
  policies:
    authorization: {rules: [${rules.join(', ')}]}
    directResponse: {status: 200}
`,
    )
    const options = { NODE_OPTIONS: `--require=${recorder}` }
    const gateway = startWith(options, ['run', '-f', file])
    running.push(gateway)
    await until('readiness', async () => (await status(ready, '/healthz/ready')) === 200)
    const call = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await fetch(`http://127.0.0.1:${admin}/api/policies/${path}`, init)
      assert.equal(response.status, 200)
      return response.json() as Promise<Readonly<Record<string, unknown>>>
    }
    // An analysis of the configuration is a process: so the record of processes has what starts.
    await call('lint', {})
    const before = processes()
    assert.ok(
      before.some((line) => line.includes(' lint ')),
      before.join('\n'),
    )
    // The configuration is also linted after the start.
    await until('the first lint', async () => {
      const response = await fetch(`http://127.0.0.1:${admin}/api/lint`)
      return ((await response.json()) as { readonly isComplete: boolean }).isComplete
    })
    const count = processes().length
    let isOver = false
    const explained = call('explain', { request: `GET /${RULES - 1}` }).finally(() => {
      isOver = true
    })
    let served = 0
    for (; !isOver; served++) assert.equal(await status(http, '/1'), 200)
    const { outcome, route } = await explained
    assert.deepEqual({ outcome, route }, { outcome: 'answered', route: 'a' })
    assert.ok(served > 5, `${served} requests were served meanwhile`)
    assert.deepEqual(processes().slice(count), [])
    gateway.child.kill('SIGTERM')
    assert.equal(await gateway.exit, 0, gateway.out())
  })
})
