import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { reply } from '../../src/exchange/reply.ts'
import { MAX_INTERIM } from '../../src/wire/http1/response-head.ts'
import { exchange, startEcho, startGateway, startUpstream } from './harness.ts'
import { until } from './whole-gateway.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'
const GET = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'

const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

async function through(response: string, options?: Parameters<typeof startGateway>[1]) {
  const upstream = await startEcho(response)
  const gateway = await startGateway(upstream.port, options)
  opened.push(upstream, gateway)
  return { upstream, gateway }
}

const withoutDate = (text: string) => text.replaceAll(/(?:date|x-request-id): [^\r]*\r\n/g, '')

describe('requests and responses', () => {
  it('a request reaches the upstream without hop-by-hop fields', async () => {
    const { upstream, gateway } = await through(OK)
    const request =
      'GET /a/../b%41?q=1 HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\nX-Other: 2\r\nKeep-Alive: 5\r\nProxy-Connection: close\r\n\r\n'
    await exchange(gateway.port, request, 'hello')
    assert.equal(
      upstream.received[0],
      'GET /bA?q=1 HTTP/1.1\r\nHost: x\r\nX-Other: 2\r\nx-request-id: id-1\r\n\r\n',
    )
  })

  it("an HTTP/1.0 request without a Host gets the upstream's own host", async () => {
    const { upstream, gateway } = await through(OK)
    await exchange(gateway.port, 'GET /a HTTP/1.0\r\n\r\n', 'hello')
    const [text] = upstream.received
    assert.equal(text, 'GET /a HTTP/1.1\r\nhost: test\r\nx-request-id: id-1\r\n\r\n')
  })

  it('keep-alive serves several requests on one connection, upstream too', async () => {
    const { upstream, gateway } = await through(OK)
    const text = await exchange(gateway.port, GET + GET + GET, /(hello[\s\S]*){3}/)
    assert.equal(text.match(/200 OK/g)?.length, 3)
    assert.equal(upstream.received.length, 1)
    assert.equal(gateway.runs.length, 3)
  })

  it('pipelined requests get responses in order, also byte by byte', async () => {
    const upstream = await startUpstream((text, socket) => {
      for (const [, path] of text.matchAll(/GET (\S+)/g)) {
        const body = `path ${path}`
        setTimeout(
          () => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
          5,
        )
      }
    })
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const all = [1, 2, 3, 4].map((i) => `GET /${i} HTTP/1.1\r\nhost: x\r\n\r\n`).join('')
    const text = await exchange(gateway.port, all, 'path /4')
    assert.deepEqual(
      [...text.matchAll(/path \/(\d)/g)].map(([, n]) => n),
      ['1', '2', '3', '4'],
    )
    const slow = connect(gateway.port, '127.0.0.1')
    let got = ''
    slow.on('data', (bytes) => (got += bytes))
    for (const byte of all.slice(0, 60)) {
      slow.write(byte)
      await wait(0)
    }
    await wait(60)
    slow.destroy()
    assert.match(got, /path \/1/)
  })

  for (const [title, request, response, expected] of [
    [
      'HEAD has a length and no body',
      'HEAD / HTTP/1.1\r\nhost: x\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n',
    ],
    [
      '204 has neither',
      GET,
      'HTTP/1.1 204 No Content\r\nx: 1\r\n\r\n',
      'HTTP/1.1 204 No Content\r\nx: 1\r\n\r\n',
    ],
    [
      '304 keeps its length',
      GET,
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n',
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n',
    ],
    [
      'chunks pass, extensions do not',
      GET,
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    ],
    [
      'trailers pass, forbidden ones do not',
      GET,
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 1\r\ncontent-length: 7\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n',
    ],
    [
      'HTTP/1.0 gets no chunks',
      'GET / HTTP/1.0\r\nhost: x\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc',
    ],
    [
      'HTTP/1.0 with keep-alive keeps the connection',
      'GET / HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\n\r\n',
      OK,
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\nhello',
    ],
    [
      'close gets close',
      'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
      OK,
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello',
    ],
    [
      'interim responses pass',
      GET,
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}`,
      'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello',
    ],
    [
      'the absolute form is understood',
      'GET http://x/a HTTP/1.1\r\nhost: x\r\n\r\n',
      OK,
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello',
    ],
  ] as const) {
    it(title, async () => {
      const { gateway } = await through(response)
      const last = expected.slice(-7)
      const text = await exchange(gateway.port, request, new RegExp(`${RegExp.escape(last)}$`))
      assert.equal(withoutDate(text), expected)
    })
  }

  it('a close-delimited response becomes chunked for HTTP/1.1', async () => {
    const upstream = await startUpstream((_, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nabc'))
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const text = await exchange(gateway.port, GET, '0\r\n\r\n')
    assert.equal(
      withoutDate(text),
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    )
  })

  it('a body with a length and a chunked one arrive complete', async () => {
    const { upstream, gateway } = await through(OK)
    await exchange(
      gateway.port,
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody',
      'hello',
    )
    const chunked =
      'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nx-t: 1\r\n\r\n'
    await exchange(gateway.port, chunked, 'hello')
    const all = upstream.received.join('')
    assert.match(all, /content-length: 4\r\nx-request-id: id-1\r\n\r\nbody/)
    assert.match(
      all,
      /transfer-encoding: chunked\r\nx-request-id: id-2\r\n\r\n4\r\nbody\r\n0\r\nx-t: 1\r\n\r\n/,
    )
  })

  it('100-continue gets a response once the request is admitted', async () => {
    const { upstream, gateway } = await through(OK)
    const head = 'POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n'
    const text = await exchange(gateway.port, head, '100 Continue')
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    assert.doesNotMatch(upstream.received[0] ?? '', /expect/)
    const denied = await startGateway(upstream.port, {
      steps: [() => reply(403, 'direct-response')],
    })
    opened.push(denied)
    assert.match(await exchange(denied.port, head), /^HTTP\/1\.1 403 /)
  })

  it('an upgrade becomes a bidirectional tunnel', async () => {
    const upstream = await startUpstream((text, socket) => {
      if (text.startsWith('GET'))
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhi',
        )
      else socket.write(text.toUpperCase())
    })
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const head = 'GET /ws HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n'
    const text = await exchange(gateway.port, `${head}ping`, 'PING')
    assert.match(
      text,
      /^HTTP\/1\.1 101 [\s\S]*upgrade: websocket\r\nx-request-id: id-1\r\n\r\nhiPING$/,
    )
  })

  it('the head of a stream does not wait for its first event', async () => {
    const upstream = await startUpstream((_, socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
      )
    })
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const text = await exchange(gateway.port, GET, '\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\n$/)
  })

  it('a quiet stream is not cut off', async () => {
    const upstream = await startUpstream((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n')
      setTimeout(() => socket.write('1\r\nb\r\n0\r\n\r\n'), 300)
    })
    const gateway = await startGateway(upstream.port, { limits: { writeTimeout: 60, idle: 60 } })
    opened.push(upstream, gateway)
    assert.match(await exchange(gateway.port, GET, '0\r\n\r\n'), /a\r\n1\r\nb\r\n0\r\n\r\n$/)
  })

  it('a large body streams in both directions in constant memory', async () => {
    const size = 32 * 1024 * 1024
    let received = 0
    const upstream = await startUpstream((text, socket) => {
      const wasLess = received < size
      received += text.length
      if (!wasLess || received < size) return
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`)
      socket.write(Buffer.alloc(size, 'b'))
    })
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const client = connect(gateway.port, '127.0.0.1')
    client.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n`)
    const piece = Buffer.alloc(65_536, 'a')
    for (let sent = 0; sent < size; sent += piece.length) {
      if (!client.write(piece)) await new Promise((resolve) => client.once('drain', resolve))
    }
    let got = 0
    await new Promise<void>((resolve) => {
      client.on('data', (bytes) => {
        got += bytes.length
        if (got > size) resolve()
      })
    })
    client.destroy()
    assert.ok(got > size)
  })

  it('the gateway holds little of a response that the client does not read', async () => {
    const size = 64 * 1024 * 1024
    let written = 0
    const upstream = await startUpstream((_, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`)
      const piece = Buffer.alloc(1 << 20)
      const more = () => {
        while (written < size) {
          written += piece.length
          if (!socket.write(piece)) return void socket.once('drain', more)
        }
      }
      more()
    })
    const gateway = await startGateway(upstream.port, { limits: { writeTimeout: 60_000 } })
    opened.push(upstream, gateway)
    const client = connect(gateway.port, '127.0.0.1')
    client.pause()
    client.write(GET)
    await wait(300)
    assert.ok(written < size / 2, `${written} of ${size} left the upstream`)
    client.destroy()
  })
})

describe('faults', () => {
  it('an upstream that rejects connections is a 503', async () => {
    const upstream = await startEcho(OK)
    upstream.close()
    const gateway = await startGateway(upstream.port)
    opened.push(gateway)
    assert.match(await exchange(gateway.port, GET, /\r\n\r\n[\s\S]+/), /^HTTP\/1\.1 503 /)
    assert.equal(gateway.attempts[0]?.outcome, 'connect-failed')
  })

  it('an upstream that is too slow is a 504', async () => {
    const upstream = await startUpstream(() => {})
    const gateway = await startGateway(upstream.port, { timeout: 80 })
    opened.push(upstream, gateway)
    assert.match(await exchange(gateway.port, GET, /\r\n\r\n[\s\S]+/), /^HTTP\/1\.1 504 /)
  })

  it('a response cut off at any byte is a 502, or is cut off for the client too', async () => {
    const response = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-y: z\r\n\r\nhello'
    let at = 0
    const upstream = await startUpstream((_, socket) => {
      socket.write(response.slice(0, at), 'latin1')
      setTimeout(() => socket.resetAndDestroy(), 2)
    })
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    const head = response.indexOf('\r\n\r\n') + 4
    for (at = 0; at < response.length; at++) {
      const text = await exchange(gateway.port, GET, at < head ? /502[\s\S]*request id/ : undefined)
      if (at < head) assert.match(text, /^HTTP\/1\.1 502 /, `cut at ${at}`)
      else assert.doesNotMatch(text, /hello$/, `cut at ${at}`)
    }
    await until('no connection', () => upstream.sockets.size === 0 && gateway.open() === 0)
  })

  for (const [title, response] of [
    [
      'both lengths',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nhello',
    ],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello'],
    ['a bare LF', 'HTTP/1.1 200 OK\ncontent-length: 5\n\nhello'],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2p1\r\n\r\n'],
    [
      'an upgrade nobody asked for',
      'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    ],
  ] as const) {
    it(`a response with ${title} is a 502`, async () => {
      const { gateway } = await through(response)
      assert.match(await exchange(gateway.port, GET, /request id/), /^HTTP\/1\.1 502 /)
    })
  }

  it('a response with an invalid chunk is a 502 while nothing was sent to the client', async () => {
    const { gateway } = await through(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n',
    )
    assert.match(await exchange(gateway.port, GET, /request id/), /^HTTP\/1\.1 502 /)
    assert.equal(gateway.runs[0]?.exchange.status, 502)
    assert.equal(gateway.runs[0]?.exchange.reason, 'upstream-invalid')
  })

  it('an upstream that sends interim responses without end is a 502', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
    const { gateway } = await through(hint.repeat(MAX_INTERIM) + OK)
    assert.match(await exchange(gateway.port, GET, 'hello'), /\nHTTP\/1\.1 200 /)
    const { gateway: other } = await through(hint.repeat(MAX_INTERIM + 1) + OK)
    assert.match(await exchange(other.port, GET, /request id/), /\nHTTP\/1\.1 502 /)
    assert.equal(other.runs[0]?.exchange.detail, 'too-many-interim-responses')
  })

  it('an idle upstream connection that closes at the moment of use is replaced', async () => {
    let count = 0
    const upstream = await startUpstream((_, socket) => {
      socket.write(OK)
      if (++count === 1) setTimeout(() => socket.destroy(), 20)
    })
    const gateway = await startGateway(upstream.port)
    opened.push(upstream, gateway)
    await exchange(gateway.port, GET, 'hello')
    await wait(19)
    for (let i = 0; i < 5; i++) assert.match(await exchange(gateway.port, GET, 'hello'), /200 OK/)
  })

  it('bytes after a response do not become the response to another request', async () => {
    const { gateway } = await through(`${OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`)
    for (let i = 0; i < 5; i++) {
      const text = await exchange(gateway.port, GET, 'hello')
      assert.doesNotMatch(text, /evil/)
    }
  })

  it('nor to the next one on the same connection', async () => {
    const { gateway } = await through(`${OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`)
    const text = await exchange(gateway.port, GET + GET + GET, /(hello[\s\S]*){3}/)
    assert.doesNotMatch(text, /evil/)
    assert.equal(text.match(/hello/g)?.length, 3)
  })

  it('a head that never ends is a 408, and an idle connection closes', async () => {
    const { gateway } = await through(OK, { limits: { headTimeout: 60, idle: 60 } })
    assert.match(await exchange(gateway.port, 'GET / HTTP/1.1\r\nhost'), /^HTTP\/1\.1 408 /)
    assert.match(await exchange(gateway.port, GET), /hello$/)
    await until('no connection', () => gateway.open() === 0)
  })
})
