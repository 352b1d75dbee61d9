import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Http2Gateway, startHttp2Gateway } from './http2-gateway.ts'

/** What a client that sends these chunks receives until the gateway closes. */
async function sent(port: number, pieces: readonly string[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1')
  })
  const ended = once(socket, 'end')
  await once(socket, 'connect')
  for (const piece of pieces) {
    socket.write(piece)
    await turn()
  }
  await ended
  socket.destroy()
  return text
}

describe('a client that speaks neither HTTP/1.1 nor HTTP/2', () => {
  let gateway: Http2Gateway
  before(async () => {
    gateway = await startHttp2Gateway({ upstream: 1, speaks: 'h1' })
  })
  after(() => gateway.close())

  const other = 'INVALID CONNECTION PREFACE\r\n\r\n'
  it('gets no response, wherever its first line is split', async () => {
    for (let at = 0; at < other.length; at++) {
      assert.equal(await sent(gateway.port, [other.slice(0, at), other.slice(at)]), '', `at ${at}`)
      assert.equal(gateway.rejections.at(-1), 'not-http')
    }
    assert.equal(await sent(gateway.port, [...other]), '', 'byte by byte')
  })

  for (const [title, text, status] of [
    ['a path without a version', 'GET /\r\n\r\n', 400],
    ['another word for a version', 'GET / SOAP/1.1\r\n\r\n', 400],
    ['a version that is none', 'GET a HTTPS/1.1\r\n\r\n', 400],
    ['another version', 'GET / HTTP/3.0\r\n\r\n', 505],
  ] as const)
    it(`${title} gets ${status} in HTTP/1.1`, async () => {
      assert.match(await sent(gateway.port, [text]), new RegExp(`^HTTP/1.1 ${status} `))
    })
})
