import assert from 'node:assert/strict'
import { createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, listen } from './harness.ts'
import { END_HEADERS, fieldBlock, frame, HEADERS } from './http2-gateway.ts'
import { NO_SETTINGS, PING, PUSH_PROMISE, WINDOW_UPDATE, words } from './scripted-upstream.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const times = (count: number, bytes: Buffer) => Buffer.concat(Array(count).fill(bytes))
const HEAD = frame(HEADERS, END_HEADERS, 1, fieldBlock([[':status', '200']]))

/** What a backend sends when the path names it. */
const ATTACKS: Readonly<Record<string, Buffer>> = {
  ping: times(20_000, frame(PING, 0, 0, Buffer.alloc(8))),
  window: times(600_000, frame(WINDOW_UPDATE, 0, 0, words(1))),
  push: frame(PUSH_PROMISE, END_HEADERS, 1, words(2)),
  http1: Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
}

describe('HTTP/2 backends that violate the protocol or a limit', () => {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  let gateway: WholeGateway
  let port = 0

  before(async () => {
    const backends = await Promise.all(
      Object.entries(ATTACKS).map(async ([name, bytes]) => {
        const server = createServer((socket) => {
          sockets.add(socket)
          socket.on('error', () => {})
          if (name !== 'http1') socket.write(NO_SETTINGS)
          let received = 0
          socket.on('data', (piece) => {
            received += piece.length
            // The preface and the frames after it are shorter than they are with a request.
            if (name === 'http1') socket.write(bytes)
            else if (received > 90 && socket.listenerCount('drain') === 0) {
              socket.on('drain', () => {})
              socket.write(Buffer.concat([HEAD, bytes]))
            }
          })
        })
        servers.push(server)
        return [name, await listen(server)] as const
      }),
    )
    port = await free()
    const route = ([name]: readonly [string, number]) => `- name: ${name}
  matches: [{ path: { exact: /${name} } }]
  backends: [{ backend: ${name} }]
`
    const backend = ([name, own]: readonly [string, number]) =>
      `- { name: ${name}, host: '127.0.0.1:${own}', policies: { http: { version: HTTP2 } } }\n`
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
${backends.map(route).join('')}backends:
${backends.map(backend).join('')}`)
  })

  after(async () => {
    await gateway.stop()
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })

  const ask = (name: string) =>
    exchange(port, `GET /${name} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`, 'request')

  for (const [name, reason] of [
    ['ping', 'control-frames'],
    ['window', 'overhead'],
    ['push', 'protocol'],
  ] as const) {
    it(`${name}: counted and logged as ${reason}`, async () => {
      await ask(name)
      const line = () =>
        gateway.lines.find((own) => own['backend'] === name && own['reason'] === reason)
      await until('the record', () => line() !== undefined)
      assert.equal(line()?.['error'], 'connection-ended')
      const counted = new RegExp(
        `portcullis_upstream_http2_offences_total\\{backend="${name}",reason="${reason}"\\} 1\\b`,
      )
      assert.match(gateway.metrics(), counted)
      assert.match(
        gateway.metrics(),
        new RegExp(
          `portcullis_upstream_connections_total\\{backend="${name}",protocol="http2"\\} 1\\b`,
        ),
      )
    })
  }

  it('HTTP/1.1 in place of HTTP/2: 503, and a connection failure', async () => {
    assert.match(await ask('http1'), /^HTTP\/1\.1 503 /)
    const line = () => gateway.lines.find((own) => own['http.path'] === '/http1')
    await until('the record', () => line() !== undefined)
    assert.equal(line()?.['detail'], 'no-http2')
    assert.match(
      gateway.metrics(),
      /portcullis_upstream_connection_failures_total\{backend="http1",reason="refused"\} 1\b/,
    )
  })
})
