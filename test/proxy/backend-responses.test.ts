import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange } from './harness.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

const GET = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

describe('the response of a backend', () => {
  let gateway: WholeGateway | undefined
  let backend: Server | undefined
  let port = 0

  afterEach(async () => {
    await gateway?.stop()
    backend?.close()
    gateway = undefined
    backend = undefined
  })

  async function startBefore(server: Server, policies = ''): Promise<void> {
    backend = server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = await free()
    const { port: own } = server.address() as AddressInfo
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: all
  backends:
  - host: 127.0.0.1:${own}
    policies: { ${policies} }
`)
  }

  /** Starts a backend that sends this response to any request. */
  const start = (response: string, policies = '') =>
    startBefore(
      createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end(response, 'latin1'))
      }),
      policies,
    )

  const many = (count: number, value = 'v') =>
    Array.from({ length: count }, (_, i) => `x-${i}: ${value}\r\n`).join('')
  const withFields = (fields: string) => `HTTP/1.1 200 OK\r\n${fields}content-length: 2\r\n\r\nok`

  const manyHeaders = withFields(many(149))
  const largeHead = withFields(many(48, 'v'.repeat(1_017)))

  describe('limits of its head', () => {
    for (const [title, response, policies, status] of [
      ['150 headers', manyHeaders, '', 502],
      ['150 headers', manyHeaders, 'http: { maxResponseHeaders: 149 }', 502],
      ['150 headers', manyHeaders, 'http: { maxResponseHeaders: 150 }', 200],
      ['150 headers', manyHeaders, 'http: { maxResponseHeadSize: 1Mi }', 502],
      ['48 KiB', largeHead, '', 502],
      ['48 KiB', largeHead, 'http: { maxResponseHeadSize: 48Ki }', 502],
      ['48 KiB', largeHead, 'http: { maxResponseHeadSize: 64Ki }', 200],
      ['48 KiB', largeHead, 'http: { maxResponseHeaders: 4096 }', 502],
      ['two headers', withFields('a: b\r\n'), 'http: { maxResponseHeaders: 1 }', 502],
    ] as const) {
      it(`${title}, ${policies || 'by default'}: ${status}`, async () => {
        await start(response, policies)
        const text = await exchange(port, GET)
        assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `))
        if (status === 200) assert.ok(text.includes('\r\nx-47: v') && text.endsWith('\r\n\r\nok'))
      })
    }

    for (const [version, title, count, size] of [
      ['2', 'http: { version: HTTP2 }', 149, 1],
      ['2', 'http: { version: HTTP2 }', 48, 1_017],
    ] as const) {
      for (const [policies, status] of [
        ['', 502],
        [', maxResponseHeaders: 200, maxResponseHeadSize: 64Ki', 200],
      ] as const) {
        it(`HTTP/${version}: ${count} headers of ${size}${policies}: ${status}`, async () => {
          const server = createHttp2Server((_, response) => {
            for (let i = 0; i < count; i++) response.setHeader(`x-${i}`, 'v'.repeat(size))
            response.end('ok')
          })
          await startBefore(server as unknown as Server, title.replace(' }', `${policies} }`))
          assert.match(await exchange(port, GET), new RegExp(`^HTTP/1\\.1 ${status} `))
        })
      }
    }
  })

  describe('status codes above 599', () => {
    for (const status of [600, 799, 999]) {
      it(`${status} is passed on, with its body`, async () => {
        await start(`HTTP/1.1 ${status} Custom\r\ncontent-length: 2\r\n\r\nok`)
        const text = await exchange(port, GET)
        assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} Custom\r\n`))
        assert.ok(text.endsWith('\r\n\r\nok'))
      })
    }

    it('counts as 5xx', async () => {
      await start('HTTP/1.1 799 Custom\r\ncontent-length: 2\r\n\r\nok')
      await exchange(port, GET)
      const series = gateway?.metrics().split('\n') ?? []
      const counted = series.filter((line) => /_requests_total\{.*[56789]xx/.test(line))
      assert.ok(counted.length > 0 && counted.every((line) => line.includes('5xx')), `${counted}`)
    })

    it('is passed on to an HTTP/2 client', async () => {
      await start('HTTP/1.1 799 Custom\r\ncontent-length: 2\r\n\r\nok')
      const session = connectHttp2(`http://127.0.0.1:${port}`)
      const request = session.request({ ':path': '/' })
      const [headers] = await once(request, 'response')
      request.resume()
      await once(request, 'close')
      session.close()
      assert.equal(headers[':status'], 799)
    })

    for (const status of ['099', '000', '1000']) {
      it(`${status} is a 502`, async () => {
        await start(`HTTP/1.1 ${status} X\r\ncontent-length: 2\r\n\r\nok`)
        assert.match(await exchange(port, GET), /^HTTP\/1\.1 502 /)
      })
    }
  })

  describe('Content-Length as a list', () => {
    for (const value of ['2, 2', '2,2', '2 ,\t2 , 2']) {
      it(`${JSON.stringify(value)} is one length`, async () => {
        await start(`HTTP/1.1 200 OK\r\ncontent-length: ${value}\r\n\r\nok`)
        const text = await exchange(port, GET)
        assert.match(text, /^HTTP\/1\.1 200 /)
        assert.deepEqual(text.match(/^content-length:.*$/gim), ['content-length: 2'])
      })
    }
    for (const value of ['2, 3', '2,', ',2', '2,,2', '2 2', '2, 02', '2, x']) {
      it(`${JSON.stringify(value)} is a 502`, async () => {
        await start(`HTTP/1.1 200 OK\r\ncontent-length: ${value}\r\n\r\nok`)
        assert.match(await exchange(port, GET), /^HTTP\/1\.1 502 /)
      })
    }
    it('of a request is still a 400', async () => {
      await start(withFields(''))
      const post = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2, 2\r\n\r\nok'
      assert.match(await exchange(port, post), /^HTTP\/1\.1 400 /)
    })
  })
})
