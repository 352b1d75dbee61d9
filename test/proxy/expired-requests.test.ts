import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { RouteProgram } from '../../src/program/program.ts'
import { free } from './accepting.ts'
import { type RawUpstream, startGateway, startUpstream } from './harness.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

describe('a request that timed out before its body was read', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      const path = /^[A-Z]+ (\S+)/.exec(text)?.[1] ?? ''
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`)
    })
    port = await free()
    const to = `backends: [{ host: 127.0.0.1:${upstream.port} }]`
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: read
  matches: [{ path: { pathPrefix: /read } }]
  policies:
    timeout: { request: 200ms }
    authorization: { rules: [{ deny: "string(request.body).contains('forbidden')" }] }
  ${to}
- { name: rest, ${to} }
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  it('goes to no backend afterwards, and the next request gets its own response', async () => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => (text += bytes.toString('latin1')))
    socket.write('POST /read HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nab')
    await until('the 504', () => /^HTTP\/1.1 504 /.test(text))
    text = ''
    socket.write('cdGET /next HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('the response', () => text.includes('/next') || text.includes('/read'))
    socket.destroy()
    assert.match(text, /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\n\/next$/)
    assert.doesNotMatch(upstream.received.join(''), /\/read/)
  })

  it('nor after a step that waits on its beginning completes', async () => {
    const asked = Promise.withResolvers<undefined>()
    const own = await startGateway(upstream.port, {
      steps: [() => asked.promise],
      route: {
        readsBeginning: true,
        timeouts: { request: 100, backendRequest: 0 } as RouteProgram['timeouts'],
      },
    })
    const long = 3 << 20
    const socket = connect(own.port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => (text += bytes.toString('latin1')))
    socket.write(`POST /long HTTP/1.1\r\nhost: x\r\ncontent-length: ${long}\r\n\r\n`)
    socket.write(Buffer.alloc(long - 1, 'a'))
    await until('the 504', () => /^HTTP\/1.1 504 /.test(text))
    asked.resolve(undefined)
    text = ''
    socket.write('aGET /next HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('the response', () => text.includes('HTTP/1.1 200'))
    socket.destroy()
    await own.close()
    assert.doesNotMatch(upstream.received.join(''), /\/long/)
  })
})
