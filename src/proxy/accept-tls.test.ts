import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectRaw } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type ConnectionOptions, connect } from 'node:tls'
import { promisify } from 'node:util'
import {
  type AcceptingPortOptions,
  acceptingPort,
  free,
  httpListener,
  networkDecision,
  programOf,
  streamTo,
  terminated,
} from '../../test/proxy/accepting.ts'
import { exchange, startEcho } from '../../test/proxy/harness.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../../test/tls/certificates.ts'
import { helloMessage, inRecords, serverName } from '../../test/tls/hello-bytes.ts'
import type { Connection } from '../exchange/connection.ts'
import type { Listener } from '../model/gateway.ts'
import type { NetworkDecision } from '../program/program.ts'

const run = promisify(execFile)
const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

type Part = Partial<Listener> & { network?: NetworkDecision }

/** Starts listeners that share one port. */
async function start(parts: readonly Part[], options: AcceptingPortOptions = {}) {
  const own = await acceptingPort(options)
  opened.push(own)
  const port = await free()
  const swap = (next: readonly Part[]) =>
    own.listeners.swap(
      programOf(
        next.map(({ network, ...listener }) =>
          httpListener(port, own.upstream, listener, network === undefined ? {} : { network }),
        ),
      ),
    )
  assert.deepEqual(await swap(parts), [])
  return { ...own, port, swap }
}

/** The response to a request over TLS; empty if the connection is closed before. */
async function ask(port: number, options: ConnectionOptions, host = 'x'): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (data) => {
    text += data
    if (/hello$/.test(text)) socket.end()
  })
  socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  await new Promise((resolve) => socket.on('close', resolve))
  return text
}

describe('TLS listeners', { skip: WITHOUT_OPENSSL }, () => {
  if (WITHOUT_OPENSSL !== false) return
  const authority = makeAuthority('authority')
  const pair = (name: string) => authority.issue({ subject: `CN=${name}`, names: [`DNS:${name}`] })
  const [a, b, any] = [pair('a.test'), pair('*.b.test'), pair('any')]
  const client = authority.issue({ subject: 'CN=alice', names: ['URI:spiffe://t/alice'] })
  const https = (hostname: string | undefined, own: typeof a, ca?: string): Part => ({
    protocol: 'HTTPS',
    name: hostname ?? 'any',
    ...(hostname === undefined ? {} : { hostname }),
    tls: terminated(own, ca === undefined ? undefined : { ca }),
  })

  it('the server name selects the listener and its certificate', async () => {
    const { port } = await start([https('a.test', a), https('*.b.test', b), https(undefined, any)])
    for (const [name, cn] of [
      ['a.test', 'a.test'],
      ['x.b.test', '*.b.test'],
      ['other.test', 'any'],
      [undefined, 'any'],
    ] as const) {
      const servername = name === undefined ? {} : { servername: name }
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...servername })
      await once(socket, 'secureConnect')
      assert.equal(socket.getPeerCertificate().subject.CN, cn)
      socket.destroy()
      assert.match(await ask(port, servername, name), /200 OK/)
    }
  })

  it('an unknown server name closes the connection with the matching alert', async () => {
    const own = await start([https('a.test', a)])
    assert.equal(await ask(own.port, { servername: 'b.test' }), '')
    assert.equal(await ask(own.port, {}), '')
    const hello = inRecords(helloMessage({ extensions: [serverName('b.test')] }))
    assert.equal(await exchange(own.port, hello), '\x15\x03\x03\x00\x02\x02\x70')
    const options = { port: own.port, host: '127.0.0.1', servername: 'b.test' }
    const [error] = await once(connect(options), 'error')
    assert.equal(error.code, 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME')
    assert.deepEqual(new Set(own.seen), new Set(['rejected no-route no-listener']))
  })

  it('an unknown server name is closed without an alert if only streams are served', async () => {
    const stream: Part = { protocol: 'TLS', hostname: 'a.test', name: 'a' }
    for (const tls of [{ mode: 'Passthrough' } as const, terminated(a)]) {
      const own = await start([{ ...stream, tls }])
      const hello = inRecords(helloMessage({ extensions: [serverName('b.test')] }))
      assert.equal(await exchange(own.port, hello), '')
      assert.deepEqual(own.seen, ['rejected no-route no-listener'])
    }
  })

  it('requests for another listener are misdirected', async () => {
    const own = await start([https('a.test', a), https('*.b.test', b, authority.cert)])
    assert.match(await ask(own.port, { servername: 'a.test' }, 'a.test'), /200 OK/)
    assert.match(await ask(own.port, { servername: 'a.test' }, 'x.b.test'), /^HTTP\/1.1 4(21|04)/)
    assert.match(await ask(own.port, { servername: 'a.test' }, 'c.test'), /^HTTP\/1.1 404/)
    assert.match(await ask(own.port, { servername: 'x.b.test', ...client }, 'x.b.test'), /200 OK/)
    assert.equal(own.connections.at(-1)?.source.identity, 'spiffe://t/alice')
  })

  it('an invalid client certificate counts as none if the listener allows it', async () => {
    const stranger = makeAuthority('stranger').issue({ subject: 'CN=mallory' })
    const clients = { ca: { text: authority.cert }, mode: 'Optional' } as const
    const listener = (ignoresInvalid: boolean): Part => ({
      ...https('a.test', a),
      tls: { ...terminated(a), clients: { ...clients, ...(ignoresInvalid && { ignoresInvalid }) } },
    })
    const open = await start([listener(true)])
    assert.match(await ask(open.port, { servername: 'a.test', ...stranger }, 'a.test'), /200 OK/)
    assert.equal(open.connections.at(-1)?.source.certificate, undefined)
    assert.match(await ask(open.port, { servername: 'a.test', ...client }, 'a.test'), /200 OK/)
    assert.equal(open.connections.at(-1)?.source.identity, 'spiffe://t/alice')
    const strict = await start([listener(false)])
    assert.equal(await ask(strict.port, { servername: 'a.test', ...stranger }, 'a.test'), '')
  })

  it('a listener that starts to request certificates does not serve earlier connections', async () => {
    const own = await start([https('a.test', a)])
    const socket = connect({
      port: own.port,
      host: '127.0.0.1',
      servername: 'a.test',
      rejectUnauthorized: false,
    })
    await once(socket, 'secureConnect')
    await own.swap([https('a.test', a, authority.cert)])
    socket.on('error', () => {})
    let text = ''
    socket.on('data', (data) => (text += data))
    socket.write('GET / HTTP/1.1\r\nhost: a.test\r\n\r\n')
    await new Promise((resolve) => socket.on('close', resolve))
    assert.doesNotMatch(text, /200 OK/)
  })

  it('a renewed certificate and a new listener do not affect connections', async () => {
    const own = await start([https('a.test', a)])
    const options = { port: own.port, host: '127.0.0.1', rejectUnauthorized: false }
    const socket = connect({ ...options, servername: 'a.test' })
    await once(socket, 'secureConnect')
    await own.swap([https('a.test', pair('renewed')), https('*.b.test', b)])
    socket.write('GET / HTTP/1.1\r\nhost: a.test\r\n\r\n')
    assert.match(String((await once(socket, 'data'))[0]), /200 OK/)
    socket.destroy()
    const next = connect({ ...options, servername: 'a.test' })
    await once(next, 'secureConnect')
    assert.equal(next.getPeerCertificate().subject.CN, 'renewed')
    next.destroy()
    assert.match(await ask(own.port, { servername: 'y.b.test' }, 'y.b.test'), /200 OK/)
  })

  it('an unusable certificate is reported, and the previous ones stay in use', async () => {
    const broken = { ...a, key: b.key }
    const own = await start([https('a.test', a)])
    const failures = await own.swap([https('a.test', broken), https('*.b.test', b)])
    assert.equal(failures.length, 1)
    assert.equal(failures[0]?.word, 'certificate')
    assert.match(failures[0]?.message ?? '', /`a.test`.*key/)
    assert.match(await ask(own.port, { servername: 'a.test' }, 'a.test'), /200 OK/)
    assert.equal(await ask(own.port, { servername: 'x.b.test' }, 'x.b.test'), '')
  })

  it('curl uses HTTP/2 and HTTP/1.1', async () => {
    const { port } = await start([https('a.test', a)], { hasHttp2: true })
    const to = ['-sk', '--resolve', `a.test:${port}:127.0.0.1`, '-w', '%{http_version}']
    for (const [flag, version] of [
      ['--http2', '2'],
      ['--http1.1', '1.1'],
    ] as const) {
      const { stdout } = await run('curl', [...to, flag, `https://a.test:${port}/`])
      assert.equal(stdout, `hello${version}`)
    }
  })

  it('plain HTTP gets a response that the port requires TLS', async () => {
    const own = await start([https(undefined, any)])
    const text = await exchange(own.port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    assert.match(text, /^HTTP\/1.1 400 Bad Request\r\n[\s\S]*\r\n\r\nThis port requires TLS/)
    assert.deepEqual(own.seen, ['unsecured malformed'])
  })

  it('garbage and silence get no response', async () => {
    const own = await start([https(undefined, any)])
    assert.equal(await exchange(own.port, 'get / HTTP/1.1\r\nhost: x\r\n\r\n'), '')
    assert.equal(await exchange(own.port, Buffer.alloc(70_000, 22)), '')
    const half = connectRaw(own.port, '127.0.0.1')
    half.end(Buffer.from([22, 3, 1]))
    half.resume()
    await new Promise((resolve) => half.on('close', resolve))
    assert.deepEqual(own.seen, ['unsecured malformed', 'unsecured malformed', 'unsecured reset'])
  })

  describe('network authorization', () => {
    const stream: Part = { protocol: 'TLS', name: 'tls', tls: terminated(any) }
    const passed: Part = { protocol: 'TLS', name: 'tls', tls: { mode: 'Passthrough' } }
    const named = (name: string): NetworkDecision =>
      networkDecision(({ destination }) => destination.hostname === name, { readsHostname: true })
    const denied = 'rejected authorization authorization failed'

    for (const [what, part, sni, isIn] of [
      ['TLS terminated, the name', stream, 'a.test', true],
      ['TLS terminated, another name', stream, 'b.test', false],
      ['TLS terminated, no name', stream, undefined, false],
      ['TLS passed through, another name', passed, 'b.test', false],
      ['TLS passed through, no name', passed, undefined, false],
      ['HTTPS, where the name is never set', https(undefined, any), 'a.test', false],
    ] as const) {
      it(`Require a name; ${what}: ${isIn ? 'admitted' : 'denied without a byte'}`, async () => {
        const upstream = await startEcho('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello')
        opened.push(upstream)
        const route = streamTo(upstream.port)
        const own = await start([{ ...part, network: named('a.test') }], { route })
        const hello = inRecords(
          helloMessage({ extensions: sni === undefined ? [] : [serverName(sni)] }),
          7,
        )
        if (!isIn) assert.equal(await exchange(own.port, hello), '')
        const text = await ask(own.port, sni === undefined ? {} : { servername: sni })
        assert.equal(/200 OK/.test(text), isIn)
        if (isIn) assert.ok(!own.seen.includes(denied))
        else assert.deepEqual(own.seen, [denied, denied])
      })
    }

    it('by source is decided before the ClientHello', async () => {
      const network = networkDecision(() => false)
      const own = await start([{ ...https(undefined, any), network }])
      assert.equal(await exchange(own.port, ''), '')
      assert.deepEqual(own.seen, [denied])
    })

    it('applies changed rules to a client whose ClientHello is still incomplete', async () => {
      const network = (isIn: boolean) => networkDecision(() => isIn)
      const own = await start([{ ...https(undefined, any), network: network(true) }])
      const hello = inRecords(helloMessage({ extensions: [serverName('a.test')] }))
      const socket = connectRaw(own.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.resume()
      socket.write(hello.subarray(0, 20))
      await wait(30)
      await own.swap([{ ...https(undefined, any), network: network(false) }])
      socket.write(hello.subarray(20))
      await new Promise((resolve) => socket.on('close', resolve))
      assert.equal(socket.bytesRead, 0)
      assert.deepEqual(own.seen, [denied])
    })

    it('by client identity is decided after the handshake, before any data', async () => {
      const accepts = ({ source }: Connection) => source.identity === 'spiffe://t/alice'
      const network = networkDecision(accepts, { readsCertificate: true })
      const own = await start([{ ...https(undefined, any, authority.cert), network }])
      const mallory = authority.issue({ subject: 'CN=mallory' })
      assert.match(await ask(own.port, client), /200 OK/)
      assert.equal(await ask(own.port, mallory), '')
      assert.equal(own.seen.at(-1), denied)
      assert.equal(own.upstream.received.length, 1)
    })
  })

  it('a removed listener closes its connections, the others stay', async () => {
    const own = await start([https('a.test', a), https('*.b.test', b)])
    const options = { port: own.port, host: '127.0.0.1', rejectUnauthorized: false }
    const goes = connect({ ...options, servername: 'a.test' })
    const stays = connect({ ...options, servername: 'x.b.test' })
    await Promise.all([once(goes, 'secureConnect'), once(stays, 'secureConnect')])
    await wait(20)
    goes.resume()
    const gone = once(goes, 'close')
    await own.swap([https('*.b.test', b)])
    await gone
    stays.write('GET / HTTP/1.1\r\nhost: x.b.test\r\n\r\n')
    assert.match(String((await once(stays, 'data'))[0]), /200 OK/)
    stays.destroy()
  })
})
