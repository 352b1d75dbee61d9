import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { loadText } from '../../sources/file/load.ts'
import type { ApiDeps } from './deps.ts'
import { ENDPOINTS } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-costs-'))
after(() => rmSync(folder, { recursive: true }))

const file = join(folder, 'catalog.json')
const OWN = {
  providers: {
    openai: {
      models: {
        small: { rates: { input: '0.15', output: '0.6', cacheRead: '0.075' }, maxOutputTokens: 10 },
      },
    },
    vertex: {
      models: {
        long: {
          rates: { input: '1.25', output: '10' },
          tiers: [
            { contextOver: 400000, rates: { input: '5' } },
            { contextOver: 200000, rates: { input: '2.5', output: '15' } },
          ],
        },
        unpriced: {},
      },
    },
  },
}

describe('GET /api/llm/costs', () => {
  const ask = async (modelCatalog: readonly object[]) => {
    const text = JSON.stringify({ config: { modelCatalog }, gateways: {} })
    const { settings } = loadText(text, join(folder, 'a.json'), { environment: {} })
    assert.ok(settings)
    const endpoint = ENDPOINTS.find(({ path }) => path === '/api/llm/costs')
    assert.ok(endpoint)
    const deps = { status: () => ({ settings }) } as unknown as ApiDeps
    const { body } = (await endpoint.run({} as never, deps)) as { body: { models: object[] } }
    return body.models
  }

  it('returns the rates of each model as configured, and their origin', async () => {
    writeFileSync(file, JSON.stringify(OWN))
    const inline = { providers: { openai: { models: { small: { rates: { input: '9' } } } } } }
    const none = { tiers: [], maxOutputTokens: null }
    const from = { catalog: 0, file }
    const vertex = [
      {
        ...{ provider: 'vertex', model: 'long', rates: { input: '1.25', output: '10' }, from },
        tiers: [
          { contextOver: 200000, rates: { input: '2.5', output: '15' } },
          { contextOver: 400000, rates: { input: '5' } },
        ],
        maxOutputTokens: null,
      },
      { provider: 'vertex', model: 'unpriced', rates: {}, from, ...none },
    ]
    const { rates } = OWN.providers.openai.models.small
    const small = { provider: 'openai', model: 'small' }
    assert.deepEqual(await ask([{ file }]), [
      { ...small, rates, from, tiers: [], maxOutputTokens: 10 },
      ...vertex,
    ])
    for (const later of [inline, JSON.stringify(inline)]) {
      assert.deepEqual(await ask([{ file }, { inline: later }]), [
        { ...small, rates: { input: '9' }, from: { catalog: 1, file: null }, ...none },
        ...vertex,
      ])
    }
  })

  it('is empty without a catalog', async () => {
    assert.deepEqual(await ask([]), [])
  })
})
