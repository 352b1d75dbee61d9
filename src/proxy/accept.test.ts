import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { connect, Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  type AcceptingPortOptions,
  acceptingPort,
  free,
  frontendPolicy,
  httpListener,
  networkDecision,
  programOf,
} from '../../test/proxy/accepting.ts'
import { exchange } from '../../test/proxy/harness.ts'
import { proxyV2, V4, V6 } from '../../test/tls/proxy-header.ts'
import type { Connection } from '../exchange/connection.ts'

const GET = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
const run = promisify(execFile)
const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

async function start(
  rest: Parameters<typeof httpListener>[3] = {},
  options: AcceptingPortOptions = {},
) {
  const own = await acceptingPort(options)
  opened.push(own)
  const port = await free()
  await own.listeners.swap(programOf([httpListener(port, own.upstream, {}, rest)]))
  return { ...own, port }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; !isTrue() && turn < 10_000; turn++) await wait(5)
  assert.ok(isTrue())
}

function responded(socket: Socket): Promise<void> {
  socket.write(GET)
  return new Promise((resolve) => {
    socket.on('data', (data) => {
      if (String(data).endsWith('hello')) resolve()
    })
  })
}

describe('connection limits', () => {
  const busy =
    'HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\nx-request-id: id-3\r\n\r\n'
  for (const [limit, word, response] of [
    ['connections', 'rejected connections connections', busy],
    ['connectionsPerAddress', 'rejected connections-per-address connections-per-address', ''],
  ] as const) {
    it(`${limit}: one too many is sent away, and one less makes room`, async () => {
      const own = await start({}, { [limit]: 2 })
      const first = connect(own.port, '127.0.0.1')
      const second = connect(own.port, '127.0.0.1')
      await Promise.all([responded(first), responded(second)])
      assert.equal(await exchange(own.port, GET), response)
      assert.deepEqual(own.seen, [word])
      first.destroy()
      await until(() => own.counts.total === 1)
      assert.match(await exchange(own.port, GET, 'hello'), /200 OK/)
      second.destroy()
      await until(() => own.counts.total === 0 && own.counts.addresses === 0)
    })
  }

  it('behind a load balancer, clients are counted', async () => {
    const proxy = frontendPolicy('proxyProtocol', { mode: 'Strict', version: 'All' })
    const own = await start({ frontend: [proxy] }, { connectionsPerAddress: 1 })
    const from = (address: string) => `PROXY TCP4 ${address} 192.0.2.1 1 2\r\n${GET}`
    const first = connect(own.port, '127.0.0.1')
    first.write('PROXY TCP4 10.0.0.1 192.0.2.1 1 2\r\n')
    await responded(first)
    assert.equal(await exchange(own.port, from('10.0.0.1')), '')
    assert.match(await exchange(own.port, from('10.0.0.2'), 'hello'), /200 OK/)
    first.destroy()
  })
})

describe('the PROXY protocol', () => {
  const v1 = Buffer.from('PROXY TCP4 10.0.0.7 192.0.2.1 12345 443\r\n')
  const http = Buffer.from(GET)
  for (const [mode, version, what, header, outcome] of [
    ['Strict', 'All', 'version 1', v1, '10.0.0.7:12345'],
    ['Strict', 'V2', 'version 2', proxyV2(0x21, 0x11, V4), '10.0.0.7:12345'],
    ['Strict', 'V2', 'IPv6', proxyV2(0x21, 0x21, V6), '2001:db8::7:12345'],
    ['Strict', 'V2', 'the proxy itself', proxyV2(0x20, 0, Buffer.alloc(0)), '127.0.0.1'],
    ['Strict', 'V2', 'version 1', v1, 'rejected proxy-protocol no-header'],
    ['Strict', 'V1', 'version 2', proxyV2(0x21, 0x11, V4), 'rejected proxy-protocol no-header'],
    ['Strict', 'All', 'nothing', Buffer.alloc(0), 'rejected proxy-protocol no-header'],
    [
      'Strict',
      'All',
      'a bad one',
      Buffer.from('PROXY X\r\n'),
      'rejected proxy-protocol bad-protocol',
    ],
    ['Optional', 'All', 'nothing', Buffer.alloc(0), '127.0.0.1'],
    ['Optional', 'All', 'version 1', v1, '10.0.0.7:12345'],
    [
      'Optional',
      'All',
      'a bad one',
      Buffer.from('PROXY X\r\n'),
      'rejected proxy-protocol bad-protocol',
    ],
  ] as const) {
    it(`${mode} ${version}, ${what}: ${outcome}`, async () => {
      const policy = frontendPolicy('proxyProtocol', { mode, version })
      const own = await start({ frontend: [policy] })
      const text = await exchange(own.port, Buffer.concat([header, http]), 'hello')
      if (outcome.startsWith('rejected')) {
        assert.equal(text, '')
        assert.deepEqual(own.seen, [outcome])
        return
      }
      assert.match(text, /200 OK/)
      const { source } = own.connections[0] as Connection
      assert.equal(source.rawAddress.text, '127.0.0.1')
      assert.ok(`${source.address.text}:${source.port}`.startsWith(outcome))
    })
  }

  it('a header in single bytes is read like a whole one', async () => {
    const policy = frontendPolicy('proxyProtocol', { mode: 'Strict', version: 'V1' })
    const own = await start({ frontend: [policy] })
    const socket = connect({ port: own.port, host: '127.0.0.1', noDelay: true })
    for (const byte of v1) {
      socket.write(Buffer.from([byte]))
      await wait(1)
    }
    await responded(socket)
    assert.equal(own.connections[0]?.source.address.text, '10.0.0.7')
    socket.destroy()
  })

  it('curl supports it', async () => {
    const policy = frontendPolicy('proxyProtocol', { mode: 'Strict', version: 'V1' })
    const own = await start({ frontend: [policy] })
    const words = ['-s', '--haproxy-protocol', `http://127.0.0.1:${own.port}/`]
    assert.equal((await run('curl', words)).stdout, 'hello')
  })
})

describe('network authorization of plain listeners', () => {
  it('decides at once, by the source', async () => {
    const asked: string[] = []
    const accepts = ({ source, destination }: Connection) => {
      asked.push(`${source.address.text} ${destination.port} ${destination.hostname}`)
      return source.address.text !== '10.0.0.7'
    }
    const policy = frontendPolicy('proxyProtocol', { mode: 'Optional', version: 'All' })
    const network = networkDecision(accepts, { readsHostname: true })
    const own = await start({ network, frontend: [policy] })
    const denied = `PROXY TCP4 10.0.0.7 192.0.2.1 1 2\r\n${GET}`
    assert.equal(await exchange(own.port, denied), '')
    assert.deepEqual(own.seen, ['rejected authorization authorization failed'])
    assert.match(await exchange(own.port, GET, 'hello'), /200 OK/)
    assert.deepEqual(asked, [`10.0.0.7 ${own.port} undefined`, `127.0.0.1 ${own.port} undefined`])
    assert.equal(own.connections.length, 1)
  })

  it('a denied client is closed before it sends anything', async () => {
    const own = await start({ network: networkDecision(() => false) })
    assert.equal(await exchange(own.port, ''), '')
    assert.equal(own.seen.length, 1)
  })
})

describe('port settings of the Program', () => {
  it('an invalid connection policy closes all connections', async () => {
    const own = await start()
    const program = programOf([httpListener(own.port, own.upstream)])
    const listeners = program.listeners.map((one) => ({ ...one, isClosed: true }))
    await own.listeners.swap({ ...program, listeners })
    assert.equal(await exchange(own.port, GET), '')
    assert.deepEqual(own.seen, ['rejected no-route invalid-listener'])
  })

  it('an invalid listener alone on its port closes all connections', async () => {
    const own = await start()
    const broken = { protocol: 'Invalid', diagnostics: [] } as const
    await own.listeners.swap(programOf([httpListener(own.port, own.upstream, broken)]))
    assert.equal(await exchange(own.port, GET), '')
    assert.deepEqual(own.seen, ['rejected no-route invalid-listener'])
  })

  it('TCP keep-alive of clients follows the policy', async (test) => {
    const keepalives = { enabled: true, time: 7_000, interval: 3_000, retries: 4 }
    const own = await start({ frontend: [frontendPolicy('frontendTcp', { keepalives })] })
    const { mock } = test.mock.method(Socket.prototype, 'setKeepAlive')
    await exchange(own.port, GET)
    const asked = mock.calls.map((call) => call.arguments as unknown[])
    assert.deepEqual(
      asked.filter(([, time]) => time === 7_000),
      [[true, 7_000, 3_000, 4]],
    )
  })

  it('a connection beyond its max duration is closed', async () => {
    const http = frontendPolicy('frontendHttp', { maxConnectionDuration: 60 })
    const own = await start({ frontend: [http] })
    const socket = connect(own.port, '127.0.0.1')
    await responded(socket)
    await new Promise((resolve) => socket.on('close', resolve))
    await until(() => own.counts.total === 0)
  })

  it('HTTP/2 with prior knowledge and HTTP/1.1 share a port', async () => {
    const own = await start({}, { hasHttp2: true })
    const url = `http://127.0.0.1:${own.port}/`
    for (const flag of ['--http2-prior-knowledge', '--http1.1']) {
      const { stdout } = await run('curl', ['-s', flag, '-w', '%{http_version}', url])
      assert.equal(stdout, flag === '--http1.1' ? 'hello1.1' : 'hello2')
    }
  })
})
