import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { askHttp2 } from '../proxy/http2-peers.ts'
import { frameOf, frameReader, TEXT } from '../proxy/websocket-peer.ts'

/** Counts of requests and responses by kind, and the errors. */
export interface Tally {
  readonly counts: Map<string, number>
  readonly wrong: string[]
}

export interface Ports {
  readonly plain: number
  readonly secured: number
}

type Kind = (ports: Ports, tally: Tally, isOver: () => boolean) => Promise<void>

/** Milliseconds between two requests of a client, to create load without overload. */
const PAUSE = 4

/** Starts clients of all kinds, which run until `isOver` returns true. */
export function startTraffic(ports: Ports, tally: Tally, isOver: () => boolean): Promise<unknown> {
  const clients: readonly (readonly [Kind, number])[] = [
    [keepAlive, 6],
    [newConnections, 2],
    [http2, 2],
    [http2OverTls, 2],
    [events, 20],
    [webSockets, 20],
    [uploads, 2],
    [leavers, 2],
    [models, 4],
    [tools, 4],
  ]
  const all = clients.flatMap(([kind, count]) =>
    Array.from({ length: count }, () => kind(ports, tally, isOver)),
  )
  return Promise.all(all)
}

function note(tally: Tally, kind: string, isRight: boolean, what: string): void {
  tally.counts.set(kind, (tally.counts.get(kind) ?? 0) + 1)
  if (!isRight && tally.wrong.length < 20) tally.wrong.push(`${kind}: ${what}`)
}

/** Sends one request after the other on one connection; every fifth is denied. */
const keepAlive: Kind = async ({ plain }, tally, isOver) => {
  const socket = connect({ port: plain, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  for (let i = 0; !isOver(); i++) {
    const isDenied = i % 5 === 0
    const text = await responseTo(
      socket,
      `GET ${isDenied ? '/denied' : '/a'} HTTP/1.1\r\nhost: x\r\n\r\n`,
    )
    const status = isDenied ? 403 : 200
    note(tally, isDenied ? 'denied' : 'keep-alive', text.startsWith(`HTTP/1.1 ${status} `), text)
    await wait(PAUSE)
  }
  socket.destroy()
}

/** Sends a request and reads until its response, which has a Content-Length, is complete. */
function responseTo(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const done = () => {
      socket.off('data', read)
      socket.off('close', done)
      resolve(text)
    }
    const read = (bytes: Buffer) => {
      text += bytes.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1])
      if (head >= 0 && text.length >= head + 4 + length) done()
    }
    socket.on('data', read)
    socket.on('close', done)
    socket.write(request)
  })
}

const newConnections: Kind = async ({ plain }, tally, isOver) => {
  while (!isOver()) {
    const socket = connect({ port: plain, host: '127.0.0.1' })
    socket.on('error', () => {})
    const text = await responseTo(socket, 'GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    note(tally, 'new connection', text.startsWith('HTTP/1.1 200 '), text)
    socket.destroy()
    await wait(PAUSE * 2)
  }
}

const http2: Kind = (ports, tally, isOver) =>
  sessions(`http://127.0.0.1:${ports.plain}`, 'h2c', tally, isOver)

const http2OverTls: Kind = (ports, tally, isOver) =>
  sessions(`https://127.0.0.1:${ports.secured}`, 'h2 over TLS', tally, isOver)

/** Sessions of 200 requests, some of them concurrent. */
async function sessions(url: string, kind: string, tally: Tally, isOver: () => boolean) {
  while (!isOver()) {
    const session = connectHttp2(url, { rejectUnauthorized: false })
    session.on('error', () => {})
    for (let i = 0; i < 50 && !isOver(); i++) {
      const all = [0, 1, 2, 3].map((at) => askHttp2(session, { path: at === 0 ? '/chunks' : '/a' }))
      const responses = await Promise.allSettled(all)
      for (const own of responses) {
        const isRight = own.status === 'fulfilled' && own.value.status === 200
        note(tally, kind, isRight, JSON.stringify(own))
      }
      await wait(PAUSE * 2)
    }
    session.destroy()
  }
}

/** Long-lived event streams; clients reconnect when a stream ends. */
const events: Kind = async ({ plain }, tally, isOver) => {
  while (!isOver()) {
    const socket = connect({ port: plain, host: '127.0.0.1' })
    socket.on('error', () => {})
    let last = -1
    socket.on('data', (bytes) => {
      for (const [, number] of bytes.toString('latin1').matchAll(/data: (\d+)\n\n/g)) {
        note(tally, 'event', last < 0 || Number(number) === last + 1, `${last}, then ${number}`)
        last = Number(number)
      }
    })
    socket.write('GET /events HTTP/1.1\r\nhost: x\r\n\r\n')
    for (let i = 0; i < 300 && !isOver(); i++) await wait(100)
    socket.destroy()
  }
}

const webSockets: Kind = async ({ plain }, tally, isOver) => {
  while (!isOver()) {
    const socket = connect({ port: plain, host: '127.0.0.1', noDelay: true })
    socket.on('error', () => {})
    socket.write(
      'GET /socket HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    const head: Buffer = await new Promise((resolve) => {
      socket.once('data', resolve)
      socket.once('close', () => resolve(Buffer.alloc(0)))
    })
    note(tally, 'handshake', head.toString('latin1').startsWith('HTTP/1.1 101 '), String(head))
    let echoed = ''
    socket.on(
      'data',
      frameReader(({ payload }) => (echoed = String(payload))),
    )
    for (let i = 0; i < 100 && !isOver(); i++) {
      socket.write(frameOf(TEXT, Buffer.from(`message ${i}`), Buffer.from([1, 2, 3, 4])))
      for (let turn = 0; turn < 200 && echoed !== `message ${i}`; turn++) await wait(20)
      note(tally, 'message', echoed === `message ${i}`, echoed)
      await wait(100)
    }
    socket.destroy()
  }
}

/** Chunked bodies of 256 KiB. */
const uploads: Kind = async ({ plain }, tally, isOver) => {
  const body = 'x'.repeat(4_096)
  const chunks = `${`1000\r\n${body}\r\n`.repeat(64)}0\r\n\r\n`
  const socket = connect({ port: plain, host: '127.0.0.1' })
  socket.on('error', () => {})
  while (!isOver()) {
    const text = await responseTo(
      socket,
      `POST /up HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
    )
    note(tally, 'upload', text.endsWith(String(64 * 4_096)), text.slice(0, 200))
    await wait(50)
  }
  socket.destroy()
}

/** Clients that disconnect in the middle of a request, or send invalid requests. */
const leavers: Kind = async ({ plain }, tally, isOver) => {
  const texts = [
    'GET /large HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET / HTTP/1.1\r\nho',
    'no request\r\n\r\n',
  ]
  for (let i = 0; !isOver(); i++) {
    const socket = connect({ port: plain, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.write(texts[i % texts.length] as string)
    await wait(20)
    if (i % 2 === 0) socket.resetAndDestroy()
    else socket.destroy()
    note(tally, 'left', true, '')
  }
}

/** Model calls without streaming, with streaming, and with streaming to clients that disconnect. */
const models: Kind = async ({ plain }, tally, isOver) => {
  for (let i = 0; !isOver(); i++) {
    const stream = i % 2 === 0
    const messages = [{ role: 'user', content: `turn ${i}` }]
    const body = JSON.stringify({ model: 'm', stream, max_tokens: 9, messages })
    const left = new AbortController()
    try {
      const response = await fetch(`http://127.0.0.1:${plain}/v1/chat/completions`, {
        ...{ method: 'POST', body, signal: left.signal },
        headers: { 'content-type': 'application/json' },
      })
      if (i % 6 === 0) {
        await response.body?.getReader().read()
        left.abort()
        note(tally, 'model left', response.status === 200, String(response.status))
      } else {
        const text = await response.text()
        note(tally, 'model', text.includes(stream ? '[DONE]' : 'total_tokens'), text.slice(0, 200))
      }
    } catch (error) {
      note(tally, 'model', false, String(error))
    }
    await wait(PAUSE * 4)
  }
}

/** MCP sessions: a handshake, a stream, some calls, and the end of the session. */
const tools: Kind = async ({ plain }, tally, isOver) => {
  const url = `http://127.0.0.1:${plain}/mcp`
  const accept = 'application/json, text/event-stream'
  const post = (message: object, more: Record<string, string>) =>
    fetch(url, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      headers: { 'content-type': 'application/json', accept, ...more },
    })
  while (!isOver()) {
    try {
      const clientInfo = { name: 'soak', version: '1' }
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
      const begun = await post({ id: 0, method: 'initialize', params }, {})
      await begun.text()
      const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
      const left = new AbortController()
      const stream = await fetch(url, { headers: { accept, ...session }, signal: left.signal })
      for (let id = 1; id < 20 && !isOver(); id++) {
        const called = await post({ id, method: 'tools/call', params: { name: 'echo' } }, session)
        const text = await called.text()
        note(tally, 'tool', text.includes('done'), text.slice(0, 200))
        await wait(PAUSE * 4)
      }
      left.abort()
      await stream.body?.cancel().catch(() => {})
      const ended = await fetch(url, { method: 'DELETE', headers: session })
      await ended.text()
      note(tally, 'session', ended.status === 200, String(ended.status))
    } catch (error) {
      note(tally, 'session', false, String(error))
    }
  }
}
