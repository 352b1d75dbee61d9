import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

describe('the rates of models, with a database', { skip: SKIPPED }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-rates-'))
  const file = join(folder, 'catalog.json')
  let server: TestServer
  let gateway: StoredGateway

  const write = (input: string) => {
    const small = { rates: { input } }
    writeFileSync(file, JSON.stringify({ providers: { openai: { models: { small } } } }))
  }
  const rates = async () => {
    const { json } = await gateway.api('GET', '/llm/costs')
    const models = json['models'] as readonly { rates: { input: string }; from: object }[]
    return models.map(({ rates: own, from }) => [own.input, from])
  }
  const from = { catalog: 0, file }

  before(async () => {
    write('0.15')
    server = await sharedServer()
    const config = { modelCatalog: [{ file }] }
    gateway = await startGateway(await server.database(), { config })
  })

  after(async () => {
    await gateway?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  it('come from the file, also after it changed', async () => {
    assert.deepEqual(await rates(), [['0.15', from]])
    write('0.25')
    await until('the new rate', async () => (await rates())[0]?.[0] === '0.25')
    assert.deepEqual(await rates(), [['0.25', from]])
  })

  it('are the last valid ones if the file is invalid', async () => {
    writeFileSync(file, '{"providers": ')
    await until('it is told', async () =>
      /catalog/.test((await gateway.api('GET', '/diagnostics')).text),
    )
    assert.deepEqual(await rates(), [['0.25', from]])
    write('0.35')
    await until('the new rate', async () => (await rates())[0]?.[0] === '0.35')
  })
})
