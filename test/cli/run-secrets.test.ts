// Passwords of a referenced file, in two worker processes: they are not part of the Model that the
// workers receive, and a change of the file changes the passwords that they accept.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { startServer } from '../proxy/governed.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

const ALICE = 'alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n'

describe('secrets of two workers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-users-'))
  const users = join(folder, 'users')
  let port: number
  let backend: { readonly port: number; readonly close: () => void }
  let running: Running

  const status = async (name: string) => {
    const headers = { authorization: `Basic ${btoa(`${name}:password`)}`, connection: 'close' }
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers })
    await response.text()
    return response.status
  }

  before(async () => {
    writeFileSync(users, ALICE)
    backend = await startServer((_, response) => void response.end('served'))
    port = await free()
    const text = `
gateways: { default: { port: ${port} } }
routes:
- policies: { basicAuth: { htpasswd: { file: ${users} } } }
  backends: [{ host: "127.0.0.1:${backend.port}" }]
`
    running = await startRunning(text, { workers: 2 })
  })
  after(async () => {
    await running?.stop()
    backend?.close()
    rmSync(folder, { recursive: true })
  })

  it('reach both of them', async () => {
    for (let i = 0; i < 8; i++) {
      assert.equal(await status('alice'), 200)
      assert.equal(await status('bob'), 401)
    }
  })

  it('are not in a dump, not even as digests', async () => {
    const response = await fetch(`http://127.0.0.1:${running.ports.admin}/config_dump`)
    const dump = await response.text()
    assert.ok(!dump.includes('W6ph5Mm5Pz8'))
    assert.match(dump, /"secretRef":\s*"[^"]*users",\s*"version":\s*"\(secret\)"/)
  })

  it('change with their file', async () => {
    writeFileSync(users, ALICE.replace('alice', 'bob'))
    await until('the new users', async () => (await status('bob')) === 200)
    await until('both workers', async () => (await status('alice')) === 401)
    for (let i = 0; i < 8; i++) {
      assert.equal(await status('bob'), 200)
      assert.equal(await status('alice'), 401)
    }
  })
})
