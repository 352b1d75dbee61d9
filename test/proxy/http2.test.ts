import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { connect as connectTcp, createServer } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { listen } from './harness.ts'
import {
  DATA,
  END_HEADERS,
  fieldBlock,
  frame,
  HEADERS,
  type Http2GatewayOptions,
  RST_STREAM,
  rawHttp2,
  startHttp2Gateway,
  type Version,
} from './http2-gateway.ts'
import { clientOf, type Handler, startPeer } from './http2-peers.ts'
import { until } from './whole-gateway.ts'

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

async function between(
  down: Version,
  up: Version,
  handler: Handler,
  options: Partial<Http2GatewayOptions> = {},
) {
  const peer = await startPeer(up, handler)
  const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: up, ...options })
  const client = clientOf(down, gateway.port)
  opened.push(client, gateway, peer)
  return { peer, gateway, client }
}

const VERSIONS: readonly Version[] = ['h1', 'h2']
const COMBINATIONS = VERSIONS.flatMap((down) => VERSIONS.map((up) => [down, up] as const))
const SIZES = [0, 1, 65_536, 10 * 1024 * 1024]

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const eventually = async (isTrue: () => boolean) => {
  for (let i = 0; i < 200 && !isTrue(); i++) await wait(20)
  assert.equal(isTrue(), true)
}

for (const [down, up] of COMBINATIONS) {
  describe(`${down} to ${up}`, () => {
    for (const size of SIZES) {
      it(`${size} bytes go up and come down as they are`, async () => {
        const { client, gateway } = await between(down, up, (request, response) => {
          response.writeHead(200, { 'x-response': 'yes' })
          request.pipe(response)
        })
        const body = randomBytes(size)
        const response = await client.ask({ method: 'POST', path: '/a?b', body })
        assert.equal(response.status, 200)
        assert.equal(response.headers['x-response'], 'yes')
        assert.equal(digest(response.body), digest(body))
        await eventually(() => gateway.runs.length === 1)
        assert.equal(gateway.runs[0]?.exchange.status, 200)
      })
    }

    it('trailers pass in both directions', async () => {
      const { client } = await between(down, up, (request, response) => {
        request.resume()
        request.on('end', () => {
          response.writeHead(200, { trailer: 'x-after' })
          response.write('body')
          response.addTrailers({ 'x-after': String(request.trailers['x-before']) })
          response.end()
        })
      })
      const response = await client.ask({
        method: 'POST',
        body: Buffer.from('body'),
        headers: { te: 'trailers', trailer: 'x-before', ...(down === 'h1' ? HOP_TE : {}) },
        trailers: { 'x-before': '42' },
      })
      assert.equal(response.body.toString(), 'body')
      assert.equal(response.trailers['x-after'], '42')
    })

    for (const [method, status, length] of [
      ['HEAD', 200, '5'],
      ['GET', 204, undefined],
      ['GET', 304, undefined],
    ] as const) {
      it(`${method} with ${status} has no body`, async () => {
        const { client } = await between(down, up, (_, response) => {
          response.writeHead(status, status === 200 ? { 'content-length': '5' } : {})
          response.end()
        })
        const response = await client.ask({ method })
        assert.equal(response.status, status)
        assert.equal(response.headers['content-length'], length)
        assert.equal(response.body.length, 0)
      })
    }

    it('the head of a response does not wait for its body, nor an event for the next', async () => {
      let say: (text: string) => void = () => {}
      const { gateway } = await between(down, up, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.flushHeaders?.()
        say = (text) => void response.write(text)
      })
      const events = await listenTo(down, gateway.port)
      if (down === 'h2') await events.head
      else await eventually(() => String(say).includes('response'))
      for (const text of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
        say(text)
        await eventually(() => events.seen().includes(text))
      }
      events.close()
      await eventually(() => gateway.runs.length === 1)
    })

    it('a response that the upstream cuts short is cut short for the client', async () => {
      const { client } = await between(down, up, (_, response) => {
        response.writeHead(200)
        response.write('part')
        setTimeout(() => (up === 'h1' ? response.destroy() : response.stream.close(2)), 30)
      })
      await assert.rejects(client.ask({}))
    })

    it('a request that the client cuts short is cut short for the upstream', async () => {
      const seen = Promise.withResolvers<string>()
      const { gateway } = await between(down, up, (request) => {
        request.on('data', () => {})
        request.on('aborted', () => seen.resolve('aborted'))
        request.on('end', () => setTimeout(() => seen.resolve('whole'), 50))
      })
      await cutShort(down, gateway.port)
      assert.equal(await seen.promise, 'aborted')
      await eventually(() => gateway.runs.length === 1)
    })

    it('1,000 concurrent requests', { timeout: 30_000 }, async () => {
      const waiting: (() => void)[] = []
      const { client, gateway } = await between(
        down,
        up,
        (request, response) => {
          waiting.push(() => response.end(`response to ${request.url}`))
          if (waiting.length === 1_000) for (const respond of waiting) respond()
        },
        { limits: { streams: 1_000 } },
      )
      const responses = await Promise.all(
        Array.from({ length: 1_000 }, (_, i) => client.ask({ path: `/${i}` })),
      )
      responses.forEach(({ body }, i) => void assert.equal(body.toString(), `response to /${i}`))
      await eventually(() => gateway.runs.length === 1_000)
    })

    it('a client that does not read holds little memory', { timeout: 30_000 }, async () => {
      let sent = 0
      const { gateway } = await between(down, up, (_, response) => {
        response.writeHead(200)
        const piece = Buffer.alloc(65_536)
        const more = () => {
          while (sent < 64 * 1024 * 1024) {
            sent += piece.length
            if (!response.write(piece)) return void response.once('drain', more)
          }
        }
        more()
      })
      const stop = await readNothing(down, gateway.port)
      await until('nothing more to be taken', async () => {
        const before = sent
        await wait(300)
        return sent > 0 && sent === before
      })
      // Kernel buffers on both sides of a socket are several megabytes.
      assert.ok(sent < 24 * 1024 * 1024, `${sent} bytes taken from the upstream`)
      stop()
    })
  })
}

const HOP_TE = { connection: 'te' }

async function listenTo(down: Version, port: number) {
  let text = ''
  if (down === 'h1') {
    const socket = connectTcp(port, '127.0.0.1')
    socket.on('data', (bytes) => {
      text += bytes
    })
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await wait(50)
    return { head: Promise.resolve(), seen: () => text, close: () => socket.destroy() }
  }
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  const stream = session.request({ ':path': '/' })
  stream.on('data', (bytes) => {
    text += bytes
  })
  return { head: once(stream, 'response'), seen: () => text, close: () => session.destroy() }
}

async function cutShort(down: Version, port: number): Promise<void> {
  if (down === 'h1') {
    const socket = connectTcp(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n')
    await wait(100)
    socket.destroy()
    return
  }
  const socket = await rawHttp2(port)
  const head = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'x'],
    [':path', '/'],
  ] as const
  socket.write(frame(HEADERS, END_HEADERS, 1, fieldBlock(head)))
  socket.write(frame(DATA, 0, 1, Buffer.from('part')))
  await wait(100)
  // node:http2 treats NO_ERROR like END_STREAM, but the body must not count as complete.
  socket.write(frame(RST_STREAM, 0, 1, Buffer.alloc(4)))
  opened.push({ close: () => socket.destroy() })
}

async function readNothing(down: Version, port: number): Promise<() => void> {
  if (down === 'h1') {
    const socket = connectTcp(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    socket.pause()
    return () => socket.destroy()
  }
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  const stream = session.request({ ':path': '/' })
  stream.on('error', () => {})
  await once(stream, 'response')
  stream.pause()
  return () => session.destroy()
}

describe('features of one side only', () => {
  it('WebSocket over HTTP/1.1 still works on a port that also accepts HTTP/2', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
        )
        socket.on('data', (bytes) => socket.write(bytes))
      })
    })
    const upstream = await listen(server)
    const gateway = await startHttp2Gateway({ upstream, speaks: 'h1' })
    opened.push(gateway, server)
    const socket = connectTcp(gateway.port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes
    })
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    await eventually(() => text.includes('101 Switching'))
    socket.write('bytes as they are')
    await eventually(() => text.endsWith('bytes as they are'))
    socket.destroy()
  })

  it('an Upgrade to an HTTP/2 upstream gets 502', async () => {
    const { gateway } = await between('h1', 'h2', (_, response) => response.end())
    const socket = connectTcp(gateway.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    const [bytes] = await once(socket, 'data')
    assert.match(String(bytes), /^HTTP\/1\.1 502 /)
    socket.destroy()
  })

  it('the HTTP/1.1 upstream gets one cookie line, the host, and no pseudo-headers', async () => {
    const { client } = await between('h2', 'h1', (request, response) =>
      response.end(JSON.stringify(request.rawHeaders)),
    )
    const response = await client.ask({
      headers: { ':authority': 'Example.com:81', cookie: 'a=1; b=2', te: 'trailers', 'x-a': '1' },
    })
    const raw: string[] = JSON.parse(String(response.body))
    const all = Object.fromEntries(raw.flatMap((name, i) => (i % 2 ? [] : [[name, raw[i + 1]]])))
    const { 'x-request-id': id, ...fields } = all
    assert.ok(id)
    assert.deepEqual(fields, {
      host: 'Example.com:81',
      'x-a': '1',
      cookie: 'a=1; b=2',
      connection: 'te',
      te: 'trailers',
    })
  })

  it('an early response ends the upload without cutting off the response', async () => {
    const { gateway } = await between('h2', 'h1', (_, response) => {
      response.writeHead(413, { connection: 'close' })
      response.end('too much')
    })
    const session = connect(`http://127.0.0.1:${gateway.port}`)
    session.on('error', () => {})
    const stream = session.request({ ':path': '/', ':method': 'POST' })
    stream.write(Buffer.alloc(1024))
    const [headers] = await once(stream, 'response')
    assert.equal(headers[':status'], 413)
    let text = ''
    stream.on('data', (bytes) => {
      text += bytes
    })
    await once(stream, 'close')
    assert.equal(text, 'too much')
    assert.equal(stream.rstCode, 0)
    session.destroy()
  })
})
