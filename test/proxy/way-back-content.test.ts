import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { free } from './accepting.ts'
import { exchange, startUpstream } from './harness.ts'
import { askHttp2 } from './http2-peers.ts'
import { startWhole } from './whole-gateway.ts'

/* A client or a backend with unusual behavior must not bypass policies that change bodies. */

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

const BODY = '{"name":"ann","secret":"s3cret"}'
const CLEAN = '{"name":"ann","secret":"***"}'
const HIDING = `transformations:
  request: { body: "string(request.body).replace('evil', 'good')" }
  response:
    body: "string(response.body).replace('s3cret', '***')"
    set: { x-set: "'new'" }
    remove: [x-secret]
`

/** `respond` gets the request in one string, and returns the response to send. */
async function between(policies: string, respond: (request: string) => string, more = '') {
  const upstream = await startUpstream((text, socket) => {
    if (text.includes('\r\n\r\n')) socket.write(respond(text), 'latin1')
  })
  const port = await free()
  const gateway = await startWhole(
    `gateways: { default: { port: ${port} } }\n${more}routes:\n- policies:\n${policies.replace(/^(?=.)/gm, '    ')}` +
      `  backends: [{ host: '127.0.0.1:${upstream.port}' }]\n`,
  )
  opened.push(
    () => upstream.close(),
    () => gateway.stop(),
  )
  const ask = (lines: string, body = '', until?: string) =>
    exchange(port, `${lines.replaceAll('\n', '\r\n')}\r\nhost: x\r\n\r\n${body}`, until)
  return { port, upstream, ask, sent: () => upstream.received.join('') }
}

const whole = (body: string, fields = '', status = '200 OK') =>
  `HTTP/1.1 ${status}\r\n${fields}content-length: ${body.length}\r\n\r\n${body}`
const bodyOf = (text: string) => text.slice(text.lastIndexOf('\r\n\r\n') + 4)
const GET = 'GET / HTTP/1.1\nconnection: close'

describe('the body of a response that is read or replaced', () => {
  it('is complete: no range is requested from the backend', async () => {
    const { ask, sent } = await between(HIDING, () => whole(BODY, 'etag: "a"\r\n'))
    const text = await ask(`${GET}\nrange: bytes=0-20\nif-range: "a"`)
    assert.equal(bodyOf(text), CLEAN)
    assert.doesNotMatch(sent(), /range/i)
  })

  it('is no longer the part that a backend sent unrequested', async () => {
    const range = 'content-range: bytes 0-31/90\r\n'
    const { ask } = await between(HIDING, () => whole(BODY, range, '206 Partial Content'))
    const text = await ask(GET)
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
    assert.doesNotMatch(text, /content-range/)
    assert.equal(bodyOf(text), CLEAN)
  })

  for (const [coding, encode] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['BR', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    it(`is what stands behind ${coding}, though nobody asked for that`, async () => {
      const encoded = encode(BODY).toString('latin1')
      const fields = `content-encoding: ${coding}\r\ncontent-md5: a\r\n`
      const { ask } = await between(HIDING, () => whole(encoded, fields))
      const text = await ask(GET)
      assert.equal(bodyOf(text), CLEAN)
      assert.doesNotMatch(text, /content-encoding|content-md5/)
    })
  }

  it('keeps its coding if it is only read', async () => {
    const encoded = gzipSync(BODY).toString('latin1')
    const policy = 'transformations: { response: { set: { x-name: json(response.body).name } } }\n'
    const { ask } = await between(policy, () => whole(encoded, 'content-encoding: gzip\r\n'))
    const text = await ask(GET)
    assert.match(text, /\r\nx-name: ann\r\n/)
    assert.match(text, /\r\ncontent-encoding: gzip\r\n/)
    assert.equal(bodyOf(text), encoded)
  })

  for (const [what, coding, bytes] of [
    ['of an unknown coding', 'x-odd', BODY],
    ['not of its coding', 'gzip', BODY],
    ['cut off', 'gzip', gzipSync(BODY).subarray(0, 24).toString('latin1')],
    ['coded twice', 'gzip, gzip', gzipSync(gzipSync(BODY)).toString('latin1')],
    ['a bomb', 'gzip', gzipSync(Buffer.alloc(8 << 20)).toString('latin1')],
  ] as const) {
    it(`becomes empty where it is ${what}`, async () => {
      for (const body of ['response.body', 'string(response.body)']) {
        const policy = `transformations: { response: { body: ${body} } }\n`
        const { ask } = await between(policy, () => whole(bytes, `content-encoding: ${coding}\r\n`))
        const text = await ask(GET)
        assert.match(text, /^HTTP\/1\.1 200 /)
        assert.match(text, /\r\ncontent-length: 0\r\n/)
        assert.equal(bodyOf(text), '')
      }
    })
  }

  it('takes room only as long as it is needed', async () => {
    const encoded = gzipSync(Buffer.alloc(900)).toString('latin1')
    const { ask } = await between(
      'transformations: { response: { body: string(size(response.body)) } }\n',
      () => whole(encoded, 'content-encoding: gzip\r\n'),
      'frontendPolicies: { http: { maxBufferSize: 1000 } }\n',
    )
    // There is room for 128 bodies of 1000 bytes.
    for (let i = 0; i < 300; i++) assert.equal(bodyOf(await ask(GET)), '900')
  })

  it('has the same headers for HEAD', async () => {
    const fields = 'etag: "a"\r\ndigest: x\r\nx-kept: 1\r\n'
    const { ask } = await between(HIDING, (request) =>
      request.startsWith('HEAD') ? whole(BODY, fields).replace(BODY, '') : whole(BODY, fields),
    )
    for (const method of ['GET', 'HEAD']) {
      const text = await ask(`${method} / HTTP/1.1\nconnection: close`)
      assert.doesNotMatch(text, /etag|digest/)
      assert.match(text, /x-kept: 1/)
    }
  })

  it('has the same headers for responses of the gateway itself', async () => {
    for (const more of ['', 'compression: { minBytes: 1 }\n']) {
      const policy = `directResponse: { status: 200, body: short }
transformations: { response: { body: "'something longer'", set: { content-type: "'text/plain'" } } }
${more}`
      const { ask } = await between(policy, () => assert.fail())
      const [get = '', head = ''] = await Promise.all(
        ['GET', 'HEAD'].map((method) =>
          ask(`${method} / HTTP/1.1\naccept-encoding: gzip\nconnection: close`),
        ),
      )
      const fields = (text: string) =>
        text.slice(0, text.indexOf('\r\n\r\n')).replace(/^(x-request-id|date): .*$/gm, '')
      assert.equal(bodyOf(head), '')
      assert.equal(fields(head), fields(get))
      assert.match(head, RegExp(`content-length: ${bodyOf(get).length}\r\n`))
    }
  })

  it('is empty for an empty optional', async () => {
    const policy = `transformations:
  response: { set: { x-a: optional.none(), x-b: "optional.of('b')" }, body: optional.none() }
`
    const { ask } = await between(policy, () => whole('hello'))
    const text = await ask(GET)
    assert.doesNotMatch(text, /x-a|null/)
    assert.match(text, /x-b: b\r\n/)
    assert.equal(bodyOf(text), '')
  })
})

describe('headers that a response must not have', () => {
  it('are removed from its trailers, too, also after the gateway waited for the body', async () => {
    const chunks = '5\r\nhello\r\n0\r\nx-secret: 1\r\nx-sum: 2\r\ndigest: a\r\n\r\n'
    for (const policy of [HIDING, 'responseHeaders: { remove: [x-secret, digest] }\n']) {
      for (const more of ['', 'buffer: { response: {} }\n']) {
        const { ask } = await between(
          policy + more,
          () => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
        )
        const text = await ask('GET / HTTP/1.1\nte: trailers\nconnection: close, te')
        assert.match(text, /5\r\nhello\r\n0\r\nx-sum: 2\r\n\r\n$/, policy + more)
      }
    }
  })

  it('are removed from interim responses and upgrades', async () => {
    const { ask } = await between(HIDING, (request) =>
      request.includes('upgrade')
        ? 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nx-secret: 1\r\nx-set: old\r\n\r\nhello'
        : `HTTP/1.1 103 Early Hints\r\nx-secret: 1\r\nx-set: old\r\nlink: </a>\r\n\r\n${whole(BODY)}`,
    )
    const early = await ask(GET)
    assert.match(early, /^HTTP\/1\.1 103 Early Hints\r\nlink: <\/a>\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
    const upgrade = 'GET / HTTP/1.1\nconnection: upgrade\nupgrade: websocket'
    const text = await ask(upgrade, '', 'hello')
    assert.match(text, /^HTTP\/1\.1 101 /)
    assert.match(text, /\r\nx-set: new\r\n/)
    assert.doesNotMatch(text, /x-secret|old/)
  })
})

describe('a client that requests something else', () => {
  it('has its body changed, whatever it wants to upgrade to', async () => {
    for (const framing of ['content-length: 4', 'transfer-encoding: chunked']) {
      const { ask, sent } = await between(HIDING, () => whole(BODY))
      const body = framing.startsWith('c') ? 'evil' : '4\r\nevil\r\n0\r\n\r\n'
      const head = `POST / HTTP/1.1\nconnection: upgrade\nupgrade: websocket\n${framing}`
      assert.equal(bodyOf(await ask(head, body, CLEAN)), CLEAN)
      assert.match(sent(), /good/)
      assert.doesNotMatch(sent(), /evil/)
    }
  })

  it('gets the same response if it only claims to use gRPC', async () => {
    const { port } = await between(HIDING, () => whole(BODY, 'content-type: application/json\r\n'))
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    opened.push(() => session.destroy())
    const headers = { 'content-type': 'application/grpc', te: 'trailers' }
    const response = await askHttp2(session, { method: 'POST', headers, body: Buffer.from('a') })
    assert.equal(response.body.toString(), CLEAN)
  })

  it('has its body changed if it claims to use gRPC', async () => {
    const { port, sent } = await between(HIDING, () => whole(BODY))
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    opened.push(() => session.destroy())
    const headers = { 'content-type': 'application/grpc', te: 'trailers' }
    await askHttp2(session, { method: 'POST', headers, body: Buffer.from('evil') })
    assert.match(sent(), /\r\n\r\ngood$/)
  })

  it('gets no headers about replaced bytes, regardless of their type', async () => {
    const { ask, sent } = await between(HIDING, () =>
      whole(BODY, 'content-type: application/grpc\r\netag: "a"\r\n'),
    )
    const coded = gzipSync('evil')
    const head = `POST / HTTP/1.1\nconnection: close\ncontent-type: application/grpc\ncontent-encoding: gzip\ncontent-length: ${coded.length}`
    const text = await ask(head, coded.toString('latin1'))
    assert.match(sent(), /\r\n\r\ngood$/)
    assert.doesNotMatch(sent(), /content-encoding/i)
    assert.equal(bodyOf(text), CLEAN)
    assert.doesNotMatch(text, /etag/i)
  })
})

describe('a compressed response', () => {
  const POLICY = 'compression: { minBytes: 10 }\n'
  const TEXT = 'content-type: text/plain\r\n'

  it('is confirmed with the headers that it varies by', async () => {
    for (const [fields, varies] of [
      ['', ['Accept-Encoding']],
      ['vary: Origin\r\n', ['Origin', 'Accept-Encoding']],
      ['vary: accept-encoding\r\n', ['accept-encoding']],
      [`vary: Origin\r\ncontent-type: image/png\r\n`, ['Origin']],
    ] as const) {
      const { ask } = await between(POLICY, () => `HTTP/1.1 304 N\r\netag: "a"\r\n${fields}\r\n`)
      const text = await ask(`${GET}\nif-none-match: W/"a"`)
      assert.deepEqual(
        [...text.matchAll(/^vary: (.*)\r$/gm)].map(([, value]) => value),
        varies,
      )
    }
  })

  it('is judged by its final length', async () => {
    const policy = `transformations: { response: { body: "request.path == '/long' ? 'long enough to be compressed' : ''" } }\n`
    const { ask } = await between(policy + POLICY, () => whole('hi', TEXT))
    const at = (path: string) =>
      ask(`GET ${path} HTTP/1.1\naccept-encoding: gzip\nconnection: close`)
    assert.match(await at('/long'), /content-encoding: gzip/)
    const empty = await at('/none')
    assert.doesNotMatch(empty, /content-encoding/)
    assert.match(empty, /content-length: 0\r\n/)
  })

  for (const [version, ends] of [
    ['1.0', 'ECONNRESET'],
    ['1.1', 'end'],
  ] as const) {
    it(`that is cut off does not end as if it were whole, HTTP/${version}`, async () => {
      const { port, upstream } = await between(
        POLICY,
        () => `HTTP/1.1 200 OK\r\n${TEXT}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`,
      )
      const socket = connect(port, '127.0.0.1')
      const seen: string[] = []
      let text = ''
      socket.on('end', () => seen.push('end'))
      socket.on('error', (error: NodeJS.ErrnoException) => seen.push(error.code ?? ''))
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1')
        if (text.includes('\r\n\r\n')) for (const one of upstream.sockets) one.destroy()
      })
      socket.write(`GET / HTTP/${version}\r\nhost: x\r\naccept-encoding: gzip\r\n\r\n`)
      await new Promise((resolve) => socket.on('close', resolve))
      assert.deepEqual(seen, [ends])
      assert.match(text, /content-encoding: gzip/)
      assert.doesNotMatch(text, /0\r\n\r\n$/)
    })
  }
})
