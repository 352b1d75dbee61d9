import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import { Deadlines } from '../../src/wire/deadlines.ts'
import type { Downstream, DownstreamEvents } from '../../src/wire/downstream.ts'
import { fieldLine, NO_LINES } from '../../src/wire/http1/field-lines.ts'
import { HTTP2_LIMITS } from '../../src/wire/http2/limits.ts'
import { offerHttp2, ServerSession } from '../../src/wire/http2/server.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { doorstep, free, httpListener, programOf } from './doorstep.ts'
import { askHttp2 } from './http2-peers.ts'

const run = promisify(execFile)
const opened: { close: () => unknown }[] = []
after(async () => {
  for (const own of opened) await own.close()
})

const WITHOUT_CURL = await run('curl', ['-V']).then(
  ({ stdout }) => (/\bHTTP2\b/.test(stdout) ? false : 'curl without HTTP/2'),
  () => 'curl is not installed',
)

describe('a plain port that offers HTTP/2', () => {
  const start = async () => {
    const door = await doorstep({ http2: offerHttp2(new Deadlines(20)) })
    opened.push(door)
    const port = await free()
    await door.listeners.apply(programOf([httpListener(port, door.upstream)]))
    return { door, port }
  }

  for (const version of ['--http2-prior-knowledge', '--http1.1'] as const) {
    it(`curl ${version}`, { skip: WITHOUT_CURL }, async () => {
      const { port, door } = await start()
      const { stdout } = await run('curl', [
        '-sS',
        version,
        '-w',
        ' %{http_version} %{http_code}',
        `http://127.0.0.1:${port}/`,
      ])
      assert.equal(stdout, `hello ${version === '--http1.1' ? '1.1' : '2'} 200`)
      assert.equal(door.runs.length, 1)
    })
  }

  it('draining the port ends its connections', async () => {
    const { port, door } = await start()
    const session = connect(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    assert.equal(String((await askHttp2(session, {})).body), 'hello')
    const closed = once(session, 'close')
    await door.listeners.drain(2_000)
    await closed
  })
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
