import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { CLOSE, frameOf, frameReader } from '../proxy/websocket-peer.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { launchBrowser, WITHOUT_BROWSER } from './launch.ts'

const LARGE = randomBytes(8_000_000)
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** The page's requests that the backend saw aborted. */
const aborted: string[] = []
const lastIds: string[] = []

function serve(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '', 'http://x')
  response.on('close', () => {
    if (!response.writableFinished) aborted.push(pathname)
  })
  if (pathname === '/page') {
    response.setHeader('content-type', 'text/html')
    response.end('<title>page</title>')
  } else if (pathname === '/large') response.end(LARGE)
  else if (pathname === '/silent') request.resume()
  else if (pathname === '/events') {
    response.setHeader('content-type', 'text/event-stream')
    lastIds.push(String(request.headers['last-event-id'] ?? ''))
    const first = lastIds.length === 1 ? 1 : 4
    response.write('retry: 50\n\n')
    for (const id of [first, first + 1, first + 2]) response.write(`id: ${id}\ndata: ${id}\n\n`)
    response.end()
  } else {
    const hash = createHash('sha256')
    request.on('data', (bytes) => hash.update(bytes))
    request.on('end', () => response.end(`${request.method} ${request.url} ${hash.digest('hex')}`))
  }
}

function upgrade(request: IncomingMessage, socket: Socket): void {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  )
  socket.on('error', () => {})
  const read = frameReader(({ opcode, isFinal, payload }) => {
    if (opcode === CLOSE) socket.end(frameOf(CLOSE, payload))
    else socket.write(frameOf(opcode, payload, undefined, isFinal))
  })
  socket.on('data', read)
}

describe('a real Chromium over HTTP/2', { skip: WITHOUT_BROWSER || WITHOUT_OPENSSL }, () => {
  let backend: Server
  let gateway: WholeGateway
  let browser: Browser
  let page: Page
  let origin = ''

  before(async () => {
    backend = createServer(serve)
    backend.on('upgrade', upgrade)
    const own = await listen(backend)
    const { cert, key } = makeAuthority('browser').issue({ names: ['DNS:gateway.test'] })
    const port = await free()
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    gateway = await startWhole(`gateways:
  default: { port: ${port}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- name: all
  policies: { authorization: { rules: [{ deny: "request.path == '/denied'" }] } }
  backends: [{ host: 127.0.0.1:${own} }]
`)
    origin = `https://gateway.test:${port}`
    browser = await launchBrowser({ trusted: [cert], names: ['gateway.test'] })
    page = await browser.newPage()
    await page.goto(`${origin}/page`)
  })

  after(async () => {
    await browser?.close()
    await gateway?.stop()
    backend.close()
    backend.closeAllConnections()
  })

  const connections = (protocol: string) =>
    gateway.metric(
      `portcullis_downstream_connections_total{listener="default/default",protocol="${protocol}"}`,
    )

  it('loads the page itself', async () => {
    assert.equal(await page.title(), 'page')
    const protocol = await page.evaluate(
      () =>
        performance
          .getEntriesByType('navigation' as never)
          .map((own) => own.toJSON().nextHopProtocol)[0],
    )
    assert.equal(protocol, 'h2')
  })

  it('sends 100 requests at once, each with its own response', async () => {
    const texts = await page.evaluate(() =>
      Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const response = await fetch(`/many/${i}?n=${i}`)
          return (await response.text()).split(' ').slice(0, 2).join(' ')
        }),
      ),
    )
    assert.deepEqual(
      texts,
      Array.from({ length: 100 }, (_, i) => `GET /many/${i}?n=${i}`),
    )
  })

  it('transfers a download and uploads, whole and as a stream', async () => {
    const found = await page.evaluate(async () => {
      const hex = (bytes: ArrayBuffer) =>
        Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
      const large = await (await fetch('/large')).arrayBuffer()
      const whole = await fetch('/up', { method: 'POST', body: large })
      // Chromium streams a body only over HTTP/2.
      const stream = new Blob([large]).stream()
      const init = { method: 'POST', body: stream, duplex: 'half' }
      const streamed = await fetch('/up', init as RequestInit)
      const download = hex(await crypto.subtle.digest('SHA-256', large))
      return { download, whole: await whole.text(), streamed: await streamed.text() }
    })
    const digest = sha256(LARGE)
    assert.deepEqual(found, {
      download: digest,
      whole: `POST /up ${digest}`,
      streamed: `POST /up ${digest}`,
    })
  })

  it('runs an EventSource, which reconnects with the last id', async () => {
    const events = await page.evaluate(
      () =>
        new Promise<readonly string[]>((resolve) => {
          const seen: string[] = []
          const source = new EventSource('/events')
          source.onmessage = ({ data }) => {
            if (seen.push(data) < 6) return
            source.close()
            resolve(seen)
          }
        }),
    )
    assert.deepEqual(events, ['1', '2', '3', '4', '5', '6'])
    assert.deepEqual(lastIds.slice(0, 2), ['', '3'])
  })

  it('opens a WebSocket on the same connection', async () => {
    const echoed = await page.evaluate(
      (url) =>
        new Promise<readonly unknown[]>((resolve, reject) => {
          const seen: unknown[] = []
          const socket = new WebSocket(url)
          socket.onerror = () => reject(new Error('the WebSocket failed'))
          socket.onopen = () => {
            socket.send('hello')
            socket.send('x'.repeat(300_000))
          }
          socket.onmessage = ({ data }) => {
            seen.push(data.length)
            if (seen.length === 2) socket.close(1000, 'enough')
          }
          socket.onclose = ({ code, reason }) => resolve([...seen, code, reason])
        }),
      `${origin.replace('https', 'wss')}/chat`,
    )
    assert.deepEqual(echoed, [5, 300_000, 1000, 'enough'])
    // RFC 8441: a second connection would use HTTP/1.1.
    assert.deepEqual([connections('http2'), connections('http1')], [1, 0])
  })

  it('aborts a request: the backend sees the abort, the connection stays open', async () => {
    const name = await page.evaluate(async () => {
      const giveUp = new AbortController()
      setTimeout(() => giveUp.abort(), 200)
      return fetch('/silent', { signal: giveUp.signal }).catch((error: Error) => error.name)
    })
    assert.equal(name, 'AbortError')
    await until('the end of the request', () => aborted.includes('/silent'))
    assert.equal(connections('http2'), 1)
  })

  it('gets a denial with a status that the page can read', async () => {
    const status = await page.evaluate(async () => {
      const { status: own } = await fetch('/denied', { method: 'POST', body: 'x'.repeat(200_000) })
      return own
    })
    assert.equal(status, 403)
    assert.equal(connections('http2'), 1)
  })
})
