import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { JsonObject } from '../../model/json.ts'
import { readBaseline } from './load.ts'
import { mergeResources, type StoredResource } from './merge.ts'
import { placeInTools } from './tool-places.ts'
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

  it('has a resource and a field for each of its lines', () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-text-'))
    const file = join(folder, 'gateway.yaml')
    const rest = { base: null, revision: 1, created: 1, author: 'a', time: '' }
    writeFileSync(file, 'gateways: { default: { port: 8080 } }\n')
    const baseline = readBaseline(file, {})
    assert.ok(baseline)
    const values: readonly (readonly [StoredResource['kind'], string, JsonObject])[] = [
      ['routes', 'a', { name: 'a', x: ['1', { 'y.z': '2', list: [['3'], [], {}, '4'] }], w: '5' }],
      ['routes', 'b', { name: 'b', x: { y: '6' } }],
      ['gateways', 'more', { listeners: [{ name: '7' }, { name: '8' }] }],
      ['llm', 'default', { models: [{ name: '9' }] }],
    ]
    const edits = values.map(([kind, id, value]) => ({ kind, id, state: 'set', value, ...rest }))
    const merged = mergeResources(baseline.resources, edits as readonly StoredResource[])
    const text = textForTools({ baseline, merged })
    const lines = text.split('\n')
    for (const [word, object, field] of [
      ['1', 'routes/a', 'x[0]'],
      ['2', 'routes/a', 'x[1].y.z'],
      ['3', 'routes/a', 'x[1].list[0][0]'],
      ['4', 'routes/a', 'x[1].list[3]'],
      ['5', 'routes/a', 'w'],
      ['6', 'routes/b', 'x.y'],
      ['7', 'gateways/more', 'listeners[0].name'],
      ['8', 'gateways/more', 'listeners[1].name'],
      ['9', 'llm/default', 'models[0].name'],
    ] as const) {
      const line = lines.findIndex((one) => one.includes(`"${word}"`)) + 1
      const found = placeInTools(text, line, merged.resources)
      assert.deepEqual(found, { kind: 'object', object, field }, word)
    }
    assert.equal(placeInTools(text, 1, merged.resources), undefined)
    rmSync(folder, { recursive: true })
  })
})
