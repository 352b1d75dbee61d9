import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { JsonValue } from '../../model/json.ts'
import { runToCompletion } from '../../model/steps.ts'
import { KnownResources } from './known-resources.ts'
import { loadMerged } from './load.ts'
import type { StoredResource } from './merge.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-known-'))
after(() => rmSync(folder, { recursive: true }))

function stored(id: string, value: JsonValue, created: number): StoredResource {
  const state = value === null ? 'hidden' : 'set'
  const rest = { base: null, revision: created, created, author: 'test', time: '' }
  return { kind: 'routes', id, state, value, ...rest }
}

const OK = { directResponse: { status: 200 } }
const added = stored('added', { name: 'added', policies: OK }, 1)

function reading(baseline: string) {
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, baseline)
  const known = new KnownResources()
  const environment = {}
  return (edits: readonly StoredResource[]) => {
    const { result } = runToCompletion(loadMerged(file, environment, edits, known))
    assert.ok(result.value)
    return { model: result.value, diagnostics: result.diagnostics }
  }
}

describe('known resources', () => {
  it('are the same objects while unchanged', () => {
    const read = reading('gateways: { default: { port: 8080 } }\nroutes: [{ name: home }]\n')
    const first = read([added]).model.routes
    const more = stored('more', { name: 'more', policies: OK }, 2)
    const second = read([added, more]).model.routes
    assert.deepEqual(
      second.map((route) => first.includes(route)),
      [true, true, false],
    )
    const changed = stored('added', { name: 'added', policies: {} }, 1)
    const third = read([changed, more]).model.routes
    assert.deepEqual(
      third.map((route) => second.includes(route)),
      [true, false, true],
    )
  })

  it('are named by their new index if they have no name', () => {
    const read = reading(`gateways: { default: { port: 8080 } }
routes: [{ name: home, policies: ${JSON.stringify(OK)} }, { policies: ${JSON.stringify(OK)} }]
`)
    const names = (edits: readonly StoredResource[]) =>
      read(edits).model.routes.map(({ name }) => name)
    assert.deepEqual(names([added]), ['home', 'route-1', 'added'])
    assert.deepEqual(names([added, stored('home', null, 2)]), ['route-0', 'added'])
    assert.deepEqual(names([added]), ['home', 'route-1', 'added'])
  })

  it('report their errors again', () => {
    const read = reading('gateways: { default: { port: 8080 } }\n')
    const wrong = stored('wrong', { name: 'wrong', nonsense: 1, policies: OK }, 2)
    const messages = (edits: readonly StoredResource[]) =>
      read(edits).diagnostics.map(({ message, origin }) => [message, origin])
    const first = messages([added, wrong])
    assert.equal(first.length, 1)
    assert.deepEqual(messages([wrong]), first)
  })
})
