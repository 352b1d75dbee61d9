import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { pass } from '../passing-time.ts'
import { free } from './accepting.ts'
import { asIs, type GrpcPeer, grpcClient, SERVICE, startGrpc } from './grpc-peers.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const LATE = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate'

describe('timeouts', () => {
  let upstream: RawUpstream
  let grpc: GrpcPeer
  let gateway: WholeGateway
  let port: number

  before(async () => {
    // Responds 300 ms after a request is complete, or never; bodies here end with a full stop.
    upstream = await startUpstream((text, socket) => {
      if (/^GET \/(?:short|whole)/.test(text)) return
      if (/^GET|\.$/.test(text)) setTimeout(() => socket.write(LATE), 300)
    })
    grpc = await startGrpc()
    port = await free()
    const to = `backends: [{ host: 127.0.0.1:${upstream.port} }]`
    const route = (name: string, timeout: string) =>
      `- { name: ${name}, matches: [{ path: { pathPrefix: /${name} } }], policies: { timeout: ${timeout} }, ${to} }`
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { bodyTimeout: 2s } }
routes:
${route('short', '{ backendRequest: 250ms }')}
${route('ample', '{ backendRequest: 4s }')}
${route('off', '{ backendRequest: 0s }')}
${route('all-off', '{ request: 0s }')}
${route('whole', '{ request: 250ms, backendRequest: 5s }')}
- name: grpc
  backends: [{ host: 127.0.0.1:${grpc.port}, policies: { http: { version: HTTP2 } } }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
    grpc.close()
  })

  for (const [path, code] of [
    ['/short', 504],
    ['/ample', 200],
    ['/off', 200],
    ['/all-off', 200],
    ['/whole', 504],
  ] as const) {
    it(`a late response on ${path} is ${code}`, async () => {
      const text = await exchange(
        port,
        `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`,
        /late|\nrequest /,
      )
      assert.match(text, new RegExp(`^HTTP/1.1 ${code} `))
    })
  }

  it('the timeout of a backend starts when the body is complete, however long the client sends', async () => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => (text += bytes))
    socket.write('POST /ample HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n')
    for (const part of 'abcdefgh.') {
      pass(1_000)
      socket.write(part)
      const isSent = (text: string) => text.startsWith('POST') && text.endsWith(part)
      await until('the part', () => upstream.received.some(isSent))
    }
    await until('a response', () => text.includes('\r\n\r\n'))
    socket.destroy()
    assert.match(text, /^HTTP\/1.1 200 /)
  })

  it('a bidirectional stream may be quiet for longer than a body may', async () => {
    const client = grpcClient(port)
    const call = client.makeBidiStreamRequest(`/${SERVICE}/both`, asIs, asIs)
    const ended = new Promise<number>((resolve) => call.on('status', ({ code }) => resolve(code)))
    call.on('error', () => {})
    for (const word of ['one', 'two']) {
      const received = new Promise((resolve) => call.once('data', resolve))
      call.write(Buffer.from(word))
      assert.equal(String(await Promise.race([received, ended])), `re: ${word}`)
      pass(3_000)
      // Until the gateway has looked at its deadlines.
      await wait(300)
    }
    call.end()
    assert.equal(await ended, status.OK)
    client.close()
  })
})

describe('a connection that the upstream closes at the moment of use', () => {
  for (const [method, code, times] of [
    ['GET', 200, 3],
    ['DELETE', 200, 3],
    ['POST', 502, 2],
    ['PATCH', 502, 2],
  ] as const) {
    it(`${method}: ${code}, since ${times === 3 ? 'twice is as good as once' : 'it may be done'}`, async () => {
      const asked: string[] = []
      const upstream = await startUpstream((text, socket) => {
        asked.push(text.slice(0, text.indexOf(' ')))
        if (asked.length === 2) socket.destroy()
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello')
      })
      const port = await free()
      const gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes: [{ backends: [{ host: 127.0.0.1:${upstream.port} }] }]
`)
      await exchange(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', 'hello')
      const text = await exchange(port, `${method} / HTTP/1.1\r\nhost: x\r\n\r\n`, /hello|request /)
      assert.match(text, new RegExp(`^HTTP/1.1 ${code} `))
      assert.equal(asked.length, times)
      await gateway.stop()
      upstream.close()
    })
  }
})
