import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, type RawUpstream, startUpstream } from '../proxy/harness.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'

const RESPONSES = {
  length: 'HTTP/1.1 200 OK\r\ncontent-length: 26\r\nx-own: 1\r\n\r\nabcdefghijklmnopqrstuvwxyz',
  chunked:
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\nabcdefghijklmnop\r\n0a\r\nqrstuvwxyz\r\n0\r\nx-tail: 1\r\n\r\n',
} as const
const BODY = 'abcdefghijklmnopqrstuvwxyz'

type Framing = keyof typeof RESPONSES
type End = 'reset' | 'closed'

describe('an upstream that breaks off its response', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number

  before(async () => {
    // The path selects the response, how much of it to send, and how it ends.
    upstream = await startUpstream((text, socket) => {
      const found = /^GET \/(\w+)\/(\d+)\/(\w+)/.exec(text)
      if (found === null) return
      const [, framing, count, end] = found
      const response = RESPONSES[framing as Framing].slice(0, Number(count))
      const finish = () => (end === 'reset' ? socket.resetAndDestroy() : socket.end())
      if (response === '') finish()
      // A reset discards unread bytes, so it is sent once they have been read.
      else socket.write(response, 'latin1', () => setTimeout(finish, 30))
    })
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: all
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  const record = async (path: string) => {
    await until('the record', () => gateway.lines.some((line) => line['http.path'] === path))
    return gateway.lines.find((line) => line['http.path'] === path)
  }

  const headEnd = (framing: Framing) => RESPONSES[framing].indexOf('\r\n\r\n') + 4

  async function overHttp1(framing: Framing, count: number, end: End): Promise<void> {
    const path = `/${framing}/${count}/${end}`
    const text = await exchange(
      port,
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    )
    const isWhole = count === RESPONSES[framing].length
    const line = await record(path)
    if (count < headEnd(framing)) {
      assert.match(text, /^HTTP\/1\.1 502 /, path)
      assert.match(String(line?.['reason']), /^upstream-/, path)
      assert.equal(line?.['http.status'], 502, path)
      return
    }
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/, path)
    const body = text.slice(text.indexOf('\r\n\r\n') + 4)
    if (framing === 'length') {
      assert.match(text, /\r\ncontent-length: 26\r\n/)
      assert.equal(body, RESPONSES.length.slice(headEnd('length'), count), path)
      if (count === RESPONSES.length.length) return
    } else
      assert.equal(
        /\r\n0\r\n([^\r]+\r\n)*\r\n$/.test(body),
        isWhole,
        `${path}: ${JSON.stringify(body)}`,
      )
    assert.equal(line?.['reason'], isWhole ? 'upstream' : 'upstream-reset', path)
  }

  async function overHttp2(
    session: ReturnType<typeof connectHttp2>,
    framing: Framing,
    count: number,
    end: End,
  ): Promise<void> {
    const path = `/${framing}/${count}/${end}?h2`
    const stream = session.request({ ':path': path })
    stream.on('error', () => {})
    let status = 0
    let text = ''
    stream.on('response', (headers) => (status = Number(headers[':status'])))
    stream.on('data', (bytes) => (text += bytes))
    await new Promise((resolve) => stream.on('close', resolve))
    const isWhole = count === RESPONSES[framing].length
    if (count < headEnd(framing)) assert.deepEqual([status, stream.rstCode], [502, 0], path)
    else {
      assert.equal(status, 200, path)
      // An incomplete stream ends with an error, so that the client does not treat it as complete.
      assert.equal(stream.rstCode === 0, isWhole, `${path} ${stream.rstCode}`)
      assert.ok(BODY.startsWith(text), path)
    }
  }

  for (const framing of ['length', 'chunked'] as const) {
    for (const end of ['reset', 'closed'] as const) {
      const all = Array.from({ length: RESPONSES[framing].length + 1 }, (_, count) => count)

      it(`${framing}, ${end} after each of ${all.length - 1} bytes, to HTTP/1.1`, async () => {
        await Promise.all(all.map((count) => overHttp1(framing, count, end)))
      })

      it(`${framing}, ${end} after each of ${all.length - 1} bytes, to HTTP/2`, async () => {
        const session = connectHttp2(`http://127.0.0.1:${port}`)
        session.on('error', () => {})
        // The max number of concurrent streams that one connection may have.
        for (let from = 0; from < all.length; from += 50) {
          const some = all.slice(from, from + 50)
          await Promise.all(some.map((count) => overHttp2(session, framing, count, end)))
        }
        session.destroy()
      })
    }
  }

  it('leaves nothing behind, and the next request is served', async () => {
    await until('all connections to go', () => gateway.connections() === 0)
    const active = () => gateway.metric('portcullis_upstream_connections_active{backend="all/0"}')
    await until('all connections to the upstream to go', () => active() === 0)
    await until('all requests to end', () =>
      /^portcullis_requests_active\S* 0$/m.test(gateway.metrics()),
    )
    const { length } = RESPONSES.length
    const text = await exchange(
      port,
      `GET /length/${length}/open HTTP/1.1\r\nhost: x\r\n\r\n`,
      BODY,
    )
    assert.match(text, /200 OK/)
  })
})
