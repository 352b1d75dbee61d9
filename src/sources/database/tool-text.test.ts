import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readBaseline } from './load.ts'
import { mergeResources, type StoredResource } from './merge.ts'
import { textForTools } from './tool-text.ts'

describe('the effective text for tools', () => {
  it('is the configuration with its edits, absolute paths, and no variables', () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-text-'))
    const file = join(folder, 'gateway.yaml')
    writeFileSync(
      file,
      `config: { logging: { level: info } }
gateways:
  default: { port: 8080 }
backends:
- { name: gone, host: "a:80" }
routes:
- name: home
  policies: { basicAuth: { htpasswd: { file: users } } }
- { name: price, hostnames: ["a.test"] }
ui: {}
`,
    )
    const rest = { base: null, revision: 1, created: 1, author: 'a', time: '' }
    const edits: readonly StoredResource[] = [
      { kind: 'backends', id: 'gone', state: 'hidden', value: null, ...rest },
      { kind: 'routes', id: 'new', state: 'set', value: { name: 'new', ruleName: 'a$b' }, ...rest },
      { kind: 'gateways', id: 'more', state: 'set', value: { port: 9090 }, ...rest },
      { kind: 'tcpRoutes', id: 'db', state: 'set', value: { name: 'db', backends: [] }, ...rest },
    ]
    const baseline = readBaseline(file, {})
    assert.ok(baseline)
    const merged = mergeResources(baseline.resources, edits)
    const expected = {
      config: { logging: { level: 'info' } },
      gateways: { default: { port: 8080 }, more: { port: 9090 } },
      routes: [
        { name: 'home', policies: { basicAuth: { htpasswd: { file: join(folder, 'users') } } } },
        { name: 'price', hostnames: ['a.test'] },
        { name: 'new', ruleName: 'a$$b' },
      ],
      ui: {},
      tcpRoutes: [{ name: 'db', backends: [] }],
    }
    assert.equal(textForTools({ baseline, merged }), JSON.stringify(expected, null, 2))
    rmSync(folder, { recursive: true })
  })
})
