import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { createServer } from 'node:tls'
import { makeAuthority, WITHOUT_OPENSSL } from '../../../test/tls/certificates.ts'
import { Deadlines } from '../deadlines.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { fieldLine, NO_LINES } from '../http1/field-lines.ts'
import { HTTP2_LIMITS } from './limits.ts'
import { ServerSession } from './server.ts'

const opened: { close: () => unknown }[] = []
after(async () => {
  for (const own of opened) await own.close()
})

describe('TLS that chose h2', { skip: WITHOUT_OPENSSL }, () => {
  it('requests are answered, interim answers and 100 (Continue) come first', async () => {
    const authority = makeAuthority('test')
    const { cert, key } = authority.issue({ names: ['DNS:localhost'] })
    const seen: string[] = []
    const events: DownstreamEvents = {
      request: (downstream: Downstream) => {
        const { head } = downstream
        seen.push(`${head.method} ${head.host} ${head.expectContinue}`)
        downstream.readBody(
          {
            write: (bytes) => {
              seen.push(String(bytes))
              return true
            },
            end: () => downstream.reply(201, fieldLine('X-A', '1') ?? NO_LINES, 'done'),
            abort: () => {},
          },
          false,
        )
      },
      unreadable: () => {},
      refused: () => {},
      aborted: () => {},
      drained: () => {},
      finished: () => void seen.push('finished'),
      closed: () => void seen.push('closed'),
    }
    const deadlines = new Deadlines(20)
    const server = createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
      assert.equal(socket.alpnProtocol, 'h2')
      new ServerSession(socket, HTTP2_LIMITS, deadlines, events)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.push(server)
    const { port } = server.address() as AddressInfo
    const session = connect(`https://localhost:${port}`, { ca: authority.cert })
    const stream = session.request({ ':method': 'PUT', ':path': '/', expect: '100-continue' })
    stream.once('continue', () => stream.end('body'))
    const [headers] = await once(stream, 'response')
    assert.equal(headers[':status'], 201)
    assert.equal(headers['x-a'], '1')
    assert.equal(headers['content-length'], '4')
    await once(stream.resume(), 'end')
    session.close()
    await once(session, 'close')
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(seen, ['PUT localhost true', 'body', 'finished', 'closed'])
  })
})
