import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { describe, it } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { sealSecret } from '../policies/schema.ts'
import { type BackendTLS, handshakeWith, PLAIN_TLS, urisOf } from './backend-tls.ts'
import { type Destination, type DialOptions, dialer } from './connect.ts'
import { certify } from './fixtures/certificates.ts'
import { DIAL, eventually, freePort, liveHandles, serve } from './fixtures/servers.ts'
import { silence } from './fixtures/silent.ts'

type Result = { socket: Socket; protocol: string } | { reason: string; detail: string }

function open(destination: Destination, options: Partial<DialOptions> = {}): Promise<Result> {
  return new Promise((resolve) => {
    dialer(destination, { ...DIAL, ...options })({
      opened: (socket, protocol) => resolve({ socket, protocol }),
      failed: (reason, detail) => resolve({ reason, detail }),
    })
  })
}

async function outcome(destination: Destination, options: Partial<DialOptions> = {}) {
  const result = await open(destination, options)
  if ('reason' in result) return result.reason
  result.socket.destroy()
  return 'opened'
}

const tcp = (port: number, host = '127.0.0.1'): Destination => ({ kind: 'tcp', host, port })

describe('connecting', () => {
  it('opens a connection without event listeners', async () => {
    const server = await serve(() => {})
    const result = await open(tcp(server.port))
    assert.ok('socket' in result)
    assert.equal(result.socket.listenerCount('error'), 0)
    assert.equal(result.socket.listenerCount('connect'), 0)
    result.socket.destroy()
    await server.close()
  })

  it('fails with connect-refused if the port is closed', async () => {
    assert.equal(await outcome(tcp(await freePort())), 'connect-refused')
  })

  it('opens unix sockets, and fails if they are missing', async () => {
    const path = `${tmpdir()}/portcullis-${process.pid}.sock`
    assert.equal(await outcome({ kind: 'unix', path }), 'connect-refused')
    const server = await serve(() => {}, { path })
    assert.equal(await outcome({ kind: 'unix', path }), 'opened')
    await server.close()
  })

  for (const word of ['dns', 'dns-no-name'] as const) {
    it(`passes on ${word}, never before dial returns`, async () => {
      assert.equal(await outcome(tcp(80, 'a.test'), { resolve: () => word }), word)
      assert.equal(await outcome(tcp(80, 'a.test'), { resolve: async () => word }), word)
    })
  }

  it('counts a slow name server towards the timeout', async () => {
    const resolve = () => new Promise<never>(() => {})
    assert.equal(await outcome(tcp(80, 'a.test'), { resolve, timeout: 30 }), 'connect-timeout')
  })

  for (const host of ['127.0.0.1', '::1', '169.254.169.254', '::ffff:127.0.0.1']) {
    it(`rejects ${host} where local addresses are forbidden`, async () => {
      assert.equal(await outcome(tcp(80, host), { rejectsLocal: true }), 'forbidden-address')
    })
  }
})

describe('happy eyeballs', () => {
  it('continues at once after an address that rejects', async () => {
    const server = await serve(() => {})
    const resolve = () =>
      [
        { address: '::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ] as const
    assert.equal(await outcome(tcp(server.port, 'a.test'), { resolve }), 'opened')
    await server.close()
  })

  it('tries the next address after 250 ms, and closes the first attempt', async () => {
    const silent = await silence()
    const server = await serve(() => {}, { host: '127.0.0.2', port: silent.port })
    const resolve = () =>
      [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ] as const
    const began = performance.now()
    assert.equal(await outcome(tcp(silent.port, 'a.test'), { resolve }), 'opened')
    const took = performance.now() - began
    // Well before a client would give up on the first address, however busy the machine is.
    assert.ok(took > 240 && took < 5_000, `${took} ms`)
    await server.close()
    await silent.close()
    assert.ok(await eventually(() => !liveHandles().includes('TCPConnectWrap')))
  })

  it('fails with connect-timeout if an address never responds', async () => {
    const silent = await silence()
    assert.equal(await outcome(tcp(silent.port), { timeout: 100 }), 'connect-timeout')
    await silent.close()
  })

  it('fails with the last error if all addresses fail', async () => {
    const port = await freePort()
    const resolve = () =>
      [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ] as const
    assert.equal(await outcome(tcp(port, 'a.test'), { resolve }), 'connect-refused')
  })

  it('reports nothing after it is canceled, and leaves nothing open', async () => {
    const server = await serve(() => {})
    let reported = 0
    const dialing = dialer(
      tcp(server.port),
      DIAL,
    )({ opened: () => reported++, failed: () => reported++ })
    dialing.cancel()
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(reported, 0)
    assert.ok(await eventually(() => server.sockets.size === 0))
    await server.close()
  })
})

describe('TLS to backends', () => {
  const authority = certify({ name: 'Test Authority' })
  const stranger = certify({ name: 'Stranger' })
  const names = ['DNS:api.test', 'DNS:*.wild.test', 'IP:127.0.0.1', 'URI:spiffe://cluster/api']
  const good = certify({ name: 'api', names, issuer: authority })
  const nameless = certify({ name: 'api.test', issuer: authority })
  const expired = certify({
    name: 'api',
    names,
    issuer: authority,
    from: new Date('2001-01-01'),
    until: new Date('2002-01-01'),
  })
  const client = certify({ name: 'gateway', issuer: authority })

  const trusting = { ...PLAIN_TLS, root: { text: authority.cert } }
  const cases: readonly (readonly [string, typeof good, Partial<BackendTLS>, string])[] = [
    ['the name is in the certificate', good, { hostname: 'api.test' }, 'opened'],
    ['a wildcard covers the name', good, { hostname: 'a.wild.test' }, 'opened'],
    ['the address is in the certificate', good, {}, 'opened'],
    ['the name is another', good, { hostname: 'other.test' }, 'tls-name'],
    ['a listed URI is there', good, { subjectAltNames: ['spiffe://cluster/api'] }, 'opened'],
    ['a listed URI is not', good, { subjectAltNames: ['spiffe://cluster/ap'] }, 'tls-name'],
    ['one of the listed is there', good, { subjectAltNames: ['x.test', 'api.test'] }, 'opened'],
    ['only the common name fits', nameless, { hostname: 'api.test' }, 'tls-name'],
    ['any name will do', good, { hostname: 'other.test', insecureHost: true }, 'opened'],
    ['the issuer is unknown', good, { root: { text: stranger.cert } }, 'tls-untrusted'],
    ['it is self-signed', stranger, {}, 'tls-untrusted'],
    ['anything is trusted', stranger, { insecure: true }, 'opened'],
    ['it has expired', expired, {}, 'tls-expired'],
  ]
  for (const [sentence, { cert, key }, tls, expected] of cases) {
    it(`${sentence}: ${expected}`, async () => {
      const server = await serve(() => {}, { tls: { cert, key } })
      const handshake = handshakeWith({ ...trusting, ...tls }, '127.0.0.1', ['http/1.1'])
      assert.equal(await outcome(tcp(server.port), { tls: handshake }), expected)
      await server.close()
    })
  }

  it('sends the server name and its certificate, and negotiates a protocol', async () => {
    const seen: unknown[] = []
    const tls = {
      cert: good.cert,
      key: good.key,
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2', 'http/1.1'],
    }
    const server = await serve(
      (socket) => {
        const { servername } = socket as TLSSocket & { servername: string }
        seen.push(servername, (socket as TLSSocket).getPeerCertificate().subject.CN)
      },
      { tls },
    )
    const handshake = handshakeWith(
      {
        ...trusting,
        hostname: 'api.test',
        cert: { text: client.cert },
        key: sealSecret(client.key),
      },
      '127.0.0.1',
      ['http/1.1'],
    )
    const result = await open(tcp(server.port), { tls: handshake })
    assert.ok('socket' in result)
    assert.equal(result.protocol, 'http/1.1')
    assert.ok(await eventually(() => seen.length === 2))
    assert.deepEqual(seen, ['api.test', 'gateway'])
    result.socket.destroy()
    await server.close()
  })

  it('resumes the last session', async () => {
    const reused: boolean[] = []
    const server = await serve(
      (socket) => {
        reused.push((socket as TLSSocket).isSessionReused())
        socket.write('hello')
      },
      { tls: { cert: good.cert, key: good.key } },
    )
    const tls = handshakeWith(trusting, '127.0.0.1', ['http/1.1'])
    const dial = dialer(tcp(server.port), { ...DIAL, tls })
    for (let turn = 0; turn < 2; turn++) {
      await new Promise<void>((resolve, reject) => {
        dial({
          opened: (socket) => {
            socket.once('data', () => {
              socket.destroy()
              resolve()
            })
          },
          failed: reject,
        })
      })
    }
    assert.deepEqual(reused, [false, true])
    await server.close()
  })

  for (const [sentence, behave, expected] of [
    ['closes during the handshake', (socket: Socket) => socket.destroy(), 'tls-handshake'],
    ['speaks no TLS', (socket: Socket) => socket.write('SSH-2.0-OpenSSH\r\n'), 'tls-handshake'],
    ['stays silent', () => {}, 'connect-timeout'],
  ] as const) {
    it(`a server that ${sentence}: ${expected}`, async () => {
      const server = await serve((socket) => void behave(socket))
      const tls = handshakeWith(trusting, '127.0.0.1', ['http/1.1'])
      const timeout = expected === 'connect-timeout' ? 200 : 600_000
      assert.equal(await outcome(tcp(server.port), { tls, timeout }), expected)
      assert.ok(await eventually(() => server.sockets.size === 0))
      await server.close()
    })
  }

  it('fails with tls-material if keys cannot be read', async () => {
    const server = await serve(() => {})
    assert.equal(await outcome(tcp(server.port), { tls: 'tls-material' }), 'tls-material')
    await server.close()
  })
})

describe('certificate URIs', () => {
  for (const [text, uris] of [
    ['DNS:a.test, URI:spiffe://a/b', ['spiffe://a/b']],
    ['URI:"spiffe://a/b, URI:spiffe://c/d"', ['spiffe://a/b, URI:spiffe://c/d']],
    ['DNS:"a, URI:spiffe://c/d", URI:spiffe://e', ['spiffe://e']],
    ['', []],
  ] as const) {
    it(`${text || 'nothing'} has ${uris.length}`, () => assert.deepEqual(urisOf(text), uris))
  }
})
