import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect as connectRaw, createServer, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { makeAuthority, WITHOUT_OPENSSL } from '../../../test/tls/certificates.ts'
import { Deadlines } from '../deadlines.ts'
import { type Secured, Terminator, type TerminatorOptions } from './terminate.ts'
import { Terminators } from './terminators.ts'
import { TicketKeys } from './ticket-keys.ts'

const BARE: Omit<TerminatorOptions, 'certificates'> = {
  clients: undefined,
  alpn: [],
  minVersion: undefined,
  maxVersion: undefined,
  cipherSuites: undefined,
  keyExchangeGroups: undefined,
}

interface TestServer {
  readonly port: number
  readonly secured: Secured[]
  readonly failures: string[]
  readonly deadlines: Deadlines
  terminator: Terminator
}

const closing: (() => void)[] = []
after(() => {
  for (const close of closing) close()
})

/**
 * Terminates TLS on accepted sockets, after reading the first bytes and putting them back; echoes.
 */
async function serve(options: TerminatorOptions, keys = new TicketKeys(), timeout = 2_000) {
  const deadlines = new Deadlines(10)
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', (bytes) => {
      socket.pause()
      socket.unshift(bytes)
      own.terminator.secure(socket, timeout, deadlines, {
        secured: (tls, secured) => {
          own.secured.push(secured)
          tls.on('data', (data) => tls.write(data))
          tls.on('end', () => tls.end())
        },
        failed: (reason) => own.failures.push(reason),
        broke: (error) => {
          throw error
        },
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const terminator = new Terminator(options, keys)
  const own: TestServer = { port, secured: [], failures: [], deadlines, terminator }
  return own
}

async function greet(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  socket.write('hello')
  const [data] = await once(socket, 'data')
  assert.equal(String(data), 'hello')
  return socket
}

/** The failure that the server reported. */
async function rejected(own: TestServer, options: ConnectionOptions): Promise<string> {
  const before = own.failures.length
  const socket = connect({
    port: own.port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...options,
  })
  socket.resume()
  await closed(socket)
  for (let turn = 0; own.failures.length === before && turn < 100; turn++) await wait(5)
  return own.failures[before] ?? 'none'
}

describe('TLS termination', { skip: WITHOUT_OPENSSL }, () => {
  if (WITHOUT_OPENSSL !== false) return
  const authority = makeAuthority('authority')
  const stranger = makeAuthority('stranger')
  const first = authority.issue({ subject: 'CN=first', names: ['DNS:first.test', 'DNS:a.b.test'] })
  const wild = authority.issue({ subject: 'CN=wild', names: ['DNS:*.b.test'] })
  const both: TerminatorOptions = { ...BARE, certificates: [first, wild] }
  const one: TerminatorOptions = { ...BARE, certificates: [first] }

  it('the server name selects the certificate: exact, wildcard, default', async () => {
    const own = await serve(both)
    for (const [servername, cn] of [
      ['first.test', 'first'],
      ['a.b.test', 'first'],
      ['x.b.test', 'wild'],
      ['X.B.TEST', 'wild'],
      ['y.x.b.test', 'first'],
      ['other.test', 'first'],
      [undefined, 'first'],
    ] as const) {
      const socket = await greet(own.port, servername === undefined ? {} : { servername })
      assert.equal(socket.getPeerCertificate().subject.CN, cn, servername ?? 'no name')
      socket.destroy()
    }
  })

  it('selects the first configured protocol that the client supports', async () => {
    const own = await serve({ ...one, alpn: ['h2', 'http/1.1'] })
    for (const [offered, chosen] of [
      [['http/1.1', 'h2'], 'h2'],
      [['http/1.1'], 'http/1.1'],
      [[], ''],
    ] as const) {
      const socket = await greet(own.port, { ALPNProtocols: [...offered] })
      socket.destroy()
      assert.equal(own.secured.at(-1)?.protocol, chosen)
    }
    assert.equal(await rejected(own, { ALPNProtocols: ['spdy/3'] }), 'alpn')
  })

  it('selects none without configured protocols, whatever the client offers', async () => {
    const own = await serve(one)
    const socket = await greet(own.port, { ALPNProtocols: ['h2', 'http/1.1'] })
    assert.equal(socket.alpnProtocol, false)
    socket.destroy()
  })

  it('prefers the TLS 1.3 suite with SHA-256, whatever the client prefers', async () => {
    const own = await serve(one)
    const ciphers = 'TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256'
    const socket = await greet(own.port, { ciphers })
    assert.equal(socket.getCipher().name, 'TLS_AES_128_GCM_SHA256')
    socket.destroy()
    const other = await greet(own.port, { ciphers: 'TLS_AES_256_GCM_SHA384' })
    assert.equal(other.getCipher().name, 'TLS_AES_256_GCM_SHA384')
    other.destroy()
  })

  it('uses the configured versions, suites and groups', async () => {
    const own = await serve({
      ...one,
      minVersion: '1.2',
      maxVersion: '1.2',
      cipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'],
      keyExchangeGroups: ['P-384'],
    })
    const socket = await greet(own.port, {})
    assert.equal(own.secured[0]?.version, 'TLSv1.2')
    assert.equal(own.secured[0]?.cipher, 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384')
    assert.equal((socket.getEphemeralKeyInfo() as { name?: string }).name, 'secp384r1')
    socket.destroy()
    assert.equal(await rejected(own, { minVersion: 'TLSv1.3' }), 'version')
    assert.equal(await rejected(own, { ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }), 'cipher')
    assert.equal(await rejected(own, { ecdhCurve: 'X25519' }), 'cipher')
    const newest = await serve({ ...one, minVersion: '1.3' })
    assert.equal(await rejected(newest, { maxVersion: 'TLSv1.2' }), 'version')
  })

  describe('client certificates', () => {
    const client = authority.issue({
      subject: 'O=Shop/CN=alice',
      names: ['DNS:alice.test', 'IP:10.0.0.7', 'URI:spiffe://shop.test/alice'],
    })
    const bad = stranger.issue({ subject: 'CN=mallory', names: ['URI:spiffe://shop.test/alice'] })
    const old = authority.issue({ subject: 'CN=old', isExpired: true })
    const clients = (mode: 'Require' | 'Optional') => ({
      ...one,
      clients: { ca: authority.cert, mode },
    })

    it('identify the client', async () => {
      const own = await serve(clients('Require'))
      const socket = await greet(own.port, client)
      const fingerprint = socket.getX509Certificate()?.fingerprint256 ?? ''
      socket.destroy()
      assert.deepEqual(own.secured[0]?.certificate, {
        subject: 'CN=alice,O=Shop',
        subjectCn: 'alice',
        subjectAltNames: ['alice.test', '10.0.0.7', 'spiffe://shop.test/alice'],
        identity: 'spiffe://shop.test/alice',
        issuer: 'CN=authority',
        fingerprint: fingerprint.replaceAll(':', '').toLowerCase(),
      })
    })

    for (const [mode, who, pair, outcome] of [
      ['Require', 'none', {}, 'client-certificate-missing'],
      ['Require', 'of a stranger', bad, 'client-certificate-invalid'],
      ['Require', 'expired', old, 'client-certificate-invalid'],
      ['Optional', 'of a stranger', bad, 'client-certificate-invalid'],
      ['Optional', 'expired', old, 'client-certificate-invalid'],
    ] as const) {
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
        it(`${mode}, ${who}, ${maxVersion}: ${outcome}`, async () => {
          const own = await serve(clients(mode))
          assert.equal(await rejected(own, { ...pair, maxVersion }), outcome)
          assert.equal(own.secured.length, 0)
        })
      }
    }

    it('Optional: accepts clients without one', async () => {
      const own = await serve(clients('Optional'))
      const without = await greet(own.port, {})
      without.destroy()
      assert.equal(own.secured[0]?.certificate, undefined)
      const withOne = await greet(own.port, client)
      withOne.destroy()
      assert.equal(own.secured[1]?.certificate?.subjectCn, 'alice')
    })

    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      it(`Optional, and invalid ones ignored: they say nothing, ${maxVersion}`, async () => {
        const { clients: optional, ...rest } = clients('Optional')
        const own = await serve({ ...rest, clients: { ...optional, ignoresInvalid: true } })
        const all = [bad, old, {}, client]
        for (const pair of all) (await greet(own.port, { ...pair, maxVersion })).destroy()
        const seen = own.secured.map(({ certificate }) => certificate?.subjectCn)
        assert.deepEqual(seen, [undefined, undefined, undefined, 'alice'])
        // Nor does a session that began with such a certificate.
        const session = await sessionOf(own.port, { ...bad, maxVersion })
        const resumed = await greet(own.port, { ...bad, maxVersion, session })
        resumed.destroy()
        assert.deepEqual(own.secured.at(-1)?.certificate, undefined)
      })
    }

    it('Require: invalid ones are never ignored', async () => {
      const { clients: required, ...rest } = clients('Require')
      const own = await serve({ ...rest, clients: { ...required, ignoresInvalid: true } })
      assert.equal(await rejected(own, bad), 'client-certificate-invalid')
      assert.equal(await rejected(own, {}), 'client-certificate-missing')
    })

    it('a resumed session keeps the identity of its client', async () => {
      const own = await serve(clients('Require'))
      const session = await sessionOf(own.port, client)
      const socket = await greet(own.port, { ...client, session })
      socket.destroy()
      assert.equal(own.secured[1]?.isResumed, true)
      assert.equal(own.secured[1]?.certificate?.subjectCn, 'alice')
    })

    it('a session of a listener without client certificates is not accepted by one that requires them', async () => {
      const keys = new TicketKeys()
      const open = await serve(one, keys)
      const closed = await serve(clients('Require'), keys)
      const session = await sessionOf(open.port, {})
      assert.equal(await rejected(closed, { session }), 'client-certificate-missing')
    })
  })

  describe('TLS sessions', () => {
    it('are resumed by another process with the same secret', async () => {
      const secret = Buffer.alloc(32, 5)
      const here = await serve(one, new TicketKeys(secret))
      const there = await serve(one, new TicketKeys(secret))
      const elsewhere = await serve(one, new TicketKeys())
      const session = await sessionOf(here.port, {})
      for (const [server, isResumed] of [
        [there, true],
        [elsewhere, false],
      ] as const) {
        const socket = await greet(server.port, { session })
        socket.destroy()
        assert.equal(server.secured[0]?.isResumed, isResumed)
      }
    })

    it('are not resumed after the keys have rotated', async () => {
      const own = await serve(one, new TicketKeys(Buffer.alloc(32), 100))
      const session = await sessionOf(own.port, {})
      await wait(150)
      const socket = await greet(own.port, { session })
      socket.destroy()
      assert.equal(own.secured[1]?.isResumed, false)
    })
  })

  it('a renewed certificate is sent to new clients without closing connections', async () => {
    const terminators = new Terminators(new TicketKeys())
    const own = await serve(one)
    own.terminator = terminators.get(one) as Terminator
    terminators.turn()
    const before = await greet(own.port, {})
    const renewed = authority.issue({ subject: 'CN=renewed', names: ['DNS:first.test'] })
    own.terminator = terminators.get({ ...one, certificates: [renewed] }) as Terminator
    assert.notEqual(terminators.get(one), own.terminator)
    const next = await greet(own.port, {})
    assert.equal(next.getPeerCertificate().subject.CN, 'renewed')
    before.write('again')
    assert.equal(String((await once(before, 'data'))[0]), 'again')
    before.destroy()
    next.destroy()
  })

  it('the same options share a terminator while it is in use', () => {
    const terminators = new Terminators(new TicketKeys())
    const made = terminators.get(one)
    terminators.turn()
    assert.equal(terminators.get({ ...one }), made)
    terminators.turn()
    terminators.turn()
    assert.notEqual(terminators.get(one), made)
  })

  for (const [what, options, message] of [
    ['no certificate', { ...one, certificates: [] }, /no certificate/],
    ['text', { ...one, certificates: [{ cert: 'x', key: 'y' }] }, /./],
    ['the key of another', { ...one, certificates: [{ ...first, key: wild.key }] }, /key/],
    [
      'no authority',
      { ...one, clients: { ca: 'x', mode: 'Require' as const } },
      /no CA certificate/,
    ],
    ['an unknown suite', { ...one, cipherSuites: ['NONSENSE'] }, /./],
    ['an unknown group', { ...one, keyExchangeGroups: ['nonsense'] }, /./],
  ] as const) {
    it(`${what}: said, not thrown`, () => {
      const made = new Terminators(new TicketKeys()).get(options)
      assert.equal(typeof made, 'string')
      assert.match(made as string, message)
    })
  }

  it('a client that rejects the certificate is reported', async () => {
    const own = await serve(one)
    const words = ['s_client', '-connect', `127.0.0.1:${own.port}`, '-verify_return_error']
    const client = spawn('openssl', words, { stdio: ['pipe', 'ignore', 'ignore'] })
    await once(client, 'exit')
    for (let turn = 0; own.failures.length === 0 && turn < 100; turn++) await wait(5)
    assert.deepEqual(own.failures, ['certificate-refused'])
  })

  it('an incomplete handshake fails with timeout', async () => {
    const own = await serve(one, undefined, 50)
    const socket = connectRaw(own.port, '127.0.0.1')
    socket.resume()
    socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]))
    await closed(socket)
    assert.deepEqual(own.failures, ['timeout'])
  })

  for (const [what, bytes, word] of [
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'malformed'],
    ['garbage', Buffer.alloc(400, 0xa5), 'malformed'],
    ['a ClientHello of nothing', Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0]), 'malformed'],
  ] as const) {
    it(`${what} instead of a handshake: ${word}`, async () => {
      const own = await serve(one)
      const socket = connectRaw(own.port, '127.0.0.1')
      socket.resume()
      socket.write(bytes)
      await closed(socket)
      assert.deepEqual(own.failures, [word])
    })
  }

  it('a client that disconnects during the handshake: reset', async () => {
    const own = await serve(one)
    const socket = connectRaw(own.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(Buffer.from([22, 3, 1, 2, 0, 1]))
    await wait(30)
    socket.resetAndDestroy()
    for (let turn = 0; own.failures.length === 0 && turn < 100; turn++) await wait(5)
    assert.deepEqual(own.failures, ['reset'])
  })
})

function closed(socket: Socket): Promise<unknown> {
  socket.on('error', () => {})
  return new Promise((resolve) => socket.on('close', resolve))
}

async function sessionOf(port: number, options: ConnectionOptions): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  const [session] = await once(socket, 'session')
  socket.destroy()
  return session
}
