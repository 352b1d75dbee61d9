import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText } from '../sources/file/load.ts'
import { banner, startRecord } from './banner.ts'
import { painter } from './paint.ts'

describe('the startup banner of `portcullis run`', () => {
  it('lists every listening address, the file and the workers', () => {
    const { result, settings } = loadText(
      `config: { adminAddr: '127.0.0.1:1500', statsAddr: '[::]:1502', readinessAddr: off }
gateways:
  web: { port: 8443, listeners: [{ name: a, hostname: a.test, protocol: HTTP }, { name: b }] }
  db: { port: 5432, protocol: TCP }
`,
      'gateway.yaml',
      { environment: {} },
    )
    assert.ok(result.value && settings)
    const serving = {
      file: 'gateway.yaml',
      model: result.value,
      settings,
      workers: 2,
      version: '1',
    }
    assert.equal(
      banner(serving, painter(false)),
      `portcullis 1

  web      http://a.test:8443  http://localhost:8443
  db       tcp://localhost:5432
  admin    http://127.0.0.1:1500
  metrics  http://localhost:1502/metrics
  file     gateway.yaml
  workers  2

`,
    )
    assert.deepEqual(startRecord(serving), {
      version: '1',
      file: 'gateway.yaml',
      listeners: { web: 'http://a.test:8443  http://localhost:8443', db: 'tcp://localhost:5432' },
      admin: 'http://127.0.0.1:1500',
      metrics: 'http://localhost:1502/metrics',
      workers: 2,
    })
  })
})
