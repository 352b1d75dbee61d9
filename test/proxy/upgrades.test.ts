import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

/** What a backend sends that switches to the first protocol of Upgrade, and to `foo` on /always. */
const SWITCHED = (protocol: string) =>
  `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n\r\ntunnel`

describe('upgrades', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port = 0
  let other = 0

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      const [, asked] = /\r\nupgrade: ([^\r]+)/i.exec(text) ?? []
      const [first = asked] = text.startsWith('GET /always') ? ['foo'] : []
      if (first === undefined) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nplain')
      else socket.write(SWITCHED(first.split(', ')[0] as string))
    })
    ;[port, other] = [await free(), await free()]
    gateway = await startWhole(`gateways:
  default: { port: ${port} }
  other: { port: ${other} }
frontendPolicies: { http: { upgrades: [SPDY/3.1] } }
routes:
- { name: all, gateways: [default, other], backends: [{ host: 127.0.0.1:${upstream.port} }] }
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  const ask = (protocol: string, path = '/') =>
    exchange(
      port,
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n\r\n`,
      /plain|tunnel|request /,
    )

  for (const [protocol, sent] of [
    ['foo', undefined],
    ['foo/1', undefined],
    ['spdy/3.0', undefined],
    ['spdy', undefined],
    ['websocket', 'websocket'],
    ['WebSocket', 'websocket'],
    ['foo, websocket', 'websocket'],
    ['spdy/3.1', 'spdy/3.1'],
    ['SPDY/3.1, foo', 'spdy/3.1'],
  ] as const) {
    it(`${protocol}: ${sent === undefined ? 'served without it' : `a tunnel of ${sent}`}`, async () => {
      const text = await ask(protocol)
      const received = upstream.received.at(-1) ?? ''
      assert.equal(/\r\nupgrade: ([^\r]+)/i.exec(received)?.[1], sent)
      assert.equal(/\r\nconnection: /i.test(received), sent !== undefined)
      assert.match(
        text,
        sent === undefined ? /^HTTP\/1.1 200 .*plain$/s : /^HTTP\/1.1 101 .*tunnel$/s,
      )
    })
  }

  it('a backend that switches unasked gets no tunnel', async () => {
    assert.match(await ask('foo', '/always'), /^HTTP\/1.1 502 /)
  })
})
