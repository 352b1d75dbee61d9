// A kept-alive client connection whose listener is removed or becomes invalid: a configuration that
// is no longer in effect admitted it, so it gets no further response.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Gateway } from '../../src/proxy/gateway.ts'
import { confine } from '../../src/sources/file/confine.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { steady } from '../steady-settings.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'

const REST = 'routes: [{ name: r, gateways: one, policies: { directResponse: { status: 200 } } }]'
const DENIED = '{ networkAuthorization: { rules: [{ deny: source.nothing }] } }'

describe('a kept-alive connection', { skip: WITHOUT_OPENSSL }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const file = join(folder, 'gateway.yaml')
  let gateway: Gateway
  let port: number
  let other: number

  before(async () => {
    ;[port, other] = await Promise.all([free(), free()])
    const { cert, key } = makeAuthority('closed').issue({ names: ['DNS:a.test'] })
    writeFileSync(join(folder, 'a.pem'), cert)
    writeFileSync(join(folder, 'a.key'), key)
    const { settings } = read(`gateways: { one: { port: ${port} } }\n${REST}`)
    const log = createLogger({ format: 'json', level: 'error', write: () => {} })
    const own = { settings: steady(settings ?? assert.fail()), log, metrics: createMetrics() }
    gateway = new Gateway({ ...own, reusePort: false })
  })
  after(async () => {
    await gateway.drain()
    rmSync(folder, { recursive: true })
  })

  const read = (text: string) => {
    const head = 'config: { adminAddr: off, statsAddr: off, readinessAddr: off }\n'
    writeFileSync(file, `${head}${text}`)
    return loadFile(file, { environment: {} })
  }
  const apply = async (text: string) => {
    const loaded = read(text)
    const { value, diagnostics } = confine(loaded.result, loaded.places)
    assert.ok(value !== undefined, JSON.stringify(diagnostics))
    assert.ok((await gateway.apply(value, false)).isApplied)
  }
  const open = async () => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    const closed = new Promise<string>((resolve) => socket.once('close', () => resolve('closed')))
    const get = () => {
      const response = new Promise<string>((resolve) => {
        socket.once('data', (bytes) => resolve(String(bytes).slice(9, 12)))
      })
      if (!socket.destroyed) socket.write('GET / HTTP/1.1\r\nhost: a.test\r\n\r\n')
      return Promise.race([response, closed])
    }
    assert.equal(await get(), '200')
    return { get, socket }
  }

  const only = (gateways: string) => `gateways: { ${gateways} }\n${REST}`
  for (const [what, next, found] of [
    ['its listener is on another port', () => only(`one: { port: ${other} }`), 'closed'],
    ['its gateway is removed', () => `gateways: { two: { port: ${other} } }`, 'closed'],
    ['its listener is invalid', () => only(`one: { port: ${port}, zzz: 1 }`), 'closed'],
    [
      'its listener has a certificate that cannot be read',
      () => only(`one: { port: ${port}, tls: { cert: gone.pem, key: a.key } }`),
      'closed',
    ],
    [
      'its listener uses TLS',
      () => only(`one: { port: ${port}, tls: { cert: a.pem, key: a.key } }`),
      'closed',
    ],
    [
      'its connections are guarded by an invalid policy',
      () => only(`one: { port: ${port}, frontendPolicies: ${DENIED} }`),
      'closed',
    ],
    [
      'something else changes',
      () => only(`one: { port: ${port} }, two: { port: ${other} }`),
      '200',
    ],
  ] as const) {
    it(`${found === 'closed' ? 'gets no response' : 'is served'} when ${what}`, async () => {
      await apply(only(`one: { port: ${port} }`))
      const { get, socket } = await open()
      await apply(next())
      assert.equal(await get(), found)
      socket.destroy()
    })
  }
})
