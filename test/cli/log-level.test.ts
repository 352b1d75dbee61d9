import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { freePort, start, status, until } from './running.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-level-'))
after(() => rmSync(folder, { recursive: true }))

it('PUT /api/logging reaches every worker', async () => {
  const [port, admin] = [await freePort(), await freePort()]
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    `config: { workers: 2, adminAddr: '127.0.0.1:${admin}', statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes: [{ name: a, policies: { directResponse: { status: 200 } } }]
`,
  )
  const { child, out, exit } = start('run', '-f', file)
  try {
    await until('it serves', async () => (await status(port, '/first')) === 200)
    await until('its admin API', async () => (await status(admin, '/api/health')) === 200)
    await until('its access log', () => out().includes('/first'))
    const set = async (level: string) => {
      const reply = await fetch(`http://127.0.0.1:${admin}/api/logging`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ level }),
      })
      assert.equal(reply.status, 200, await reply.text())
    }
    await set('error')
    await until('the audit trail', () => /audit.*before=info.*after=error/.test(out()))
    // It does not end where logs end: whoever turns them off is in it, and what they do then.
    await set('off')
    await until('the audit trail', () => /audit.*before=error.*after=off/.test(out()))
    await set('error')
    await until('the audit trail', () => /audit.*before=off.*after=error/.test(out()))
    // Messages to a worker keep their order: what it is asked later finds the level set.
    await fetch(`http://127.0.0.1:${admin}/api/decisions`).then((one) => one.text())
    const before = out().length
    for (let n = 0; n < 20; n++) {
      await fetch(`http://127.0.0.1:${port}/later`, { headers: { connection: 'close' } })
    }
    child.kill('SIGTERM')
    await exit
    assert.doesNotMatch(out().slice(before), /\/later/)
  } finally {
    child.kill('SIGKILL')
    await exit
  }
})
