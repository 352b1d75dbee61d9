import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { freePort, startBackend, startDeciding } from './gateway.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/decisions.yaml')

describe('examples/decisions.yaml', () => {
  it('denies, admits and records as its comments say', async () => {
    const backend = await startBackend()
    const port = await freePort()
    const text = readFileSync(EXAMPLE, 'utf8')
      .replace('port: 8080', `port: ${port}`)
      .replace('127.0.0.1:4001', `127.0.0.1:${backend.port}`)
    const own = await startDeciding(text)
    const ask = async (path: string, team: string) => {
      const headers = { 'x-team': team, connection: 'close' }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      await response.text()
      return { status: response.status, id: response.headers.get('x-request-id') ?? '' }
    }
    assert.equal((await ask('/orders', 'eng')).status, 200)
    assert.equal((await ask('/orders/admin', 'eng')).status, 403)
    const { status, id } = await ask('/orders', 'dev')
    assert.equal(status, 403)
    const [record] = own.decisions({ id })
    assert.deepEqual(record?.attributes[0], {
      name: "request.headers['x-team']",
      state: 'shown',
      value: 'dev',
    })
    const audited = own.decisions({ stage: 'connection' })
    assert.equal(audited.length, 3)
    assert.ok(audited.every(({ verdict, enforced }) => verdict === 'denied' && !enforced))
    await own.stop()
    backend.close()
    backend.closeAllConnections()
  })
})
