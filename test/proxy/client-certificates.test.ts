import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { connect } from 'node:tls'
import { type KeyPair, makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'
import { listen } from './harness.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

describe('client certificates', { skip: WITHOUT_OPENSSL }, () => {
  let backend: Server
  let gateway: WholeGateway
  let ports: { required: number; optional: number }
  let shown: Readonly<Record<string, KeyPair | undefined>>

  before(async () => {
    backend = createServer((_, response) => response.end('hello'))
    const [own, required, optional] = await Promise.all([listen(backend), free(), free()])
    ports = { required, optional }
    const authority = makeAuthority('clients')
    shown = {
      none: undefined,
      good: authority.issue({ subject: 'CN=client' }),
      expired: authority.issue({ subject: 'CN=client', isExpired: true }),
      'of somebody else': makeAuthority('others').issue({ subject: 'CN=client' }),
    }
    const { cert, key } = authority.issue({ names: ['DNS:a.test'] })
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    const tls = `cert: ${inline(cert)}, key: ${inline(key)}, root: ${inline(authority.cert)}`
    gateway = await startWhole(`gateways:
  required: { port: ${required}, tls: { ${tls} } }
  optional: { port: ${optional}, tls: { ${tls}, clientCertificates: Optional } }
routes:
- { name: all, gateways: [required, optional], backends: [{ host: 127.0.0.1:${own} }] }
`)
  })

  after(async () => {
    await gateway.stop()
    backend.close()
    backend.closeAllConnections()
  })

  /** Returns the status line that the client receives. */
  async function ask(port: number, pair: KeyPair | undefined, maxVersion: 'TLSv1.2' | 'TLSv1.3') {
    const socket = connect({
      ...{ port, host: '127.0.0.1', servername: 'a.test', rejectUnauthorized: false, maxVersion },
      ...pair,
    })
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (bytes) => (text += bytes))
    socket.write('GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n')
    await new Promise((resolve) => socket.on('close', resolve))
    return text.split('\r\n', 1)[0]
  }

  for (const [listener, which, reason] of [
    ['required', 'good', ''],
    ['required', 'none', 'client-certificate-missing'],
    ['required', 'expired', 'client-certificate-invalid'],
    ['required', 'of somebody else', 'client-certificate-invalid'],
    ['optional', 'good', ''],
    ['optional', 'none', ''],
    ['optional', 'expired', 'client-certificate-invalid'],
    ['optional', 'of somebody else', 'client-certificate-invalid'],
  ] as const) {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      it(`${listener}, ${which}, ${version}: ${reason || 'served'}`, async () => {
        gateway.lines.length = 0
        const line = await ask(ports[listener], shown[which], version)
        assert.equal(line, reason === '' ? 'HTTP/1.1 200 OK' : '')
        await until('the record', () => gateway.lines.length > 0)
        const [record] = gateway.lines
        if (reason === '') assert.equal(record?.['http.status'], 200)
        else {
          const { level, error, detail, 'tls.sni': sni } = record ?? {}
          const reported = { level: 'warn', error: 'tls', detail: reason, sni: 'a.test' }
          assert.deepEqual({ level, error, detail, sni }, reported)
        }
      })
    }
  }

  it('clients cannot renegotiate, which TLS 1.2 would allow', async () => {
    const socket = connect({
      ...{ port: ports.optional, host: '127.0.0.1', servername: 'a.test' },
      ...{ rejectUnauthorized: false, maxVersion: 'TLSv1.2' },
    })
    const failed = new Promise<Error | null>((resolve) => {
      socket.on('error', resolve)
      socket.on('secureConnect', () => {
        assert.notEqual(socket.renegotiate({}, resolve), undefined)
      })
    })
    assert.match(String(await failed), /no renegotiation/i)
    socket.destroy()
  })
})
