import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'profile-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const KEY = 'keyHash: sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'
const FILE = `binds:
- port: 3000
  listeners:
  - routes:
    - name: one
      policies:
        apiKey: { keys: [{ ${KEY} }] }
        authorization:
          rules: ["request.headers['x-team'] == 'a'", "proxy.route == 'one'"]
      backends: [{ host: 'orders:8080' }]
    - name: two
      matches: [{ path: { exact: /two } }]
      policies:
        apiKey: { keys: [{ ${KEY} }] }
      backends: [{ host: 'https://other.example.com' }]
`

interface Said {
  readonly diagnostics: readonly {
    readonly code: string
    readonly severity: string
    readonly message: string
    readonly origin: { readonly line: number }
  }[]
}

async function saidOf(text: string, ...options: readonly string[]) {
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, text)
  const { code, out } = await runWith(['validate', file, '--json', ...options])
  const { diagnostics } = JSON.parse(out) as Said
  return { code, said: diagnostics.filter((one) => one.code === 'PC0224') }
}

describe('portcullis validate --profile agentgateway', () => {
  it('reports each difference once, at its first place, and accepts the file', async () => {
    const { code, said } = await saidOf(FILE, '--profile', 'agentgateway')
    assert.equal(code, 0)
    assert.deepEqual(
      said.map(({ message, origin }) => [origin.line, message.slice(0, 30)]),
      [
        [7, 'without `mode`, authentication'],
        [10, 'a backend written as name:port'],
        [9, 'a header that is sent twice is'],
        [9, '`proxy.gateway`, `proxy.listen'],
      ],
    )
    assert.match(said[0]?.message ?? '', /also in 1 other place/)
    assert.ok(said.every(({ severity }) => severity === 'info'))
  })

  it('reports nothing for a file that writes it all out', async () => {
    const explicit = FILE.replaceAll('apiKey: {', 'apiKey: { mode: Strict,')
      .replace('orders:8080', '127.0.0.1:8080')
      .replace(/rules: .*/, `rules: ["request.headers.raw()['x-team'] == ['a']"]`)
    const { code, said } = await saidOf(explicit, '--profile', 'agentgateway')
    assert.deepEqual([code, said], [0, []])
  })

  it('reports nothing without the option', async () => {
    assert.deepEqual((await saidOf(FILE)).said, [])
  })

  it('rejects other profiles', async () => {
    const { code, err } = await runWith(['validate', 'a.yaml', '--profile', 'nginx'])
    assert.equal(code, 2)
    assert.match(err, /unknown profile `nginx`; available: agentgateway/)
  })
})
