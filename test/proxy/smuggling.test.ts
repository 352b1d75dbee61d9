import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { exchange, startEcho, startGateway } from './harness.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n'

const opened: { close: () => unknown }[] = []
after(() => Promise.all(opened.map((own) => own.close())))

/** What the client receives, and what the upstream saw, as request lines and bodies. */
async function through(request: string) {
  const upstream = await startEcho(OK)
  const paths: string[] = []
  const gateway = await startGateway(upstream.port, {
    steps: [
      (own) => {
        paths.push(own.request.path)
        return undefined
      },
    ],
    limits: { headTimeout: 150, bodyTimeout: 150, idle: 150 },
  })
  opened.push(upstream, gateway)
  const text = await exchange(gateway.port, request)
  await wait(5)
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))
  return { statuses, text, seen: upstream.received.join(''), paths }
}

const post = (lines: readonly string[], body = '') =>
  `POST /a HTTP/1.1\r\nhost: x\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`

describe('ambiguous requests are rejected, and nothing of them reaches the upstream', () => {
  for (const [title, request, status] of [
    [
      'both lengths',
      post(['content-length: 4', 'transfer-encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
      400,
    ],
    [
      'both lengths, the other way round',
      post(['transfer-encoding: chunked', 'content-length: 4'], `0\r\n\r\n${SMUGGLED}`),
      400,
    ],
    ['two lengths', post(['content-length: 0', 'content-length: 37'], SMUGGLED), 400],
    ['two equal lengths', post(['content-length: 0', 'content-length: 0'], SMUGGLED), 400],
    ['a list of lengths', post(['content-length: 0, 0'], SMUGGLED), 400],
    ['a length with a sign', post(['content-length: +0'], SMUGGLED), 400],
    ['a length in hexadecimal', post(['content-length: 0x0'], SMUGGLED), 400],
    ['a length that is too long', post(['content-length: 99999999999999999999'], SMUGGLED), 400],
    ['chunked twice', post(['transfer-encoding: chunked, chunked'], `0\r\n\r\n${SMUGGLED}`), 501],
    [
      'two transfer-encodings',
      post(['transfer-encoding: chunked', 'transfer-encoding: identity'], `0\r\n\r\n${SMUGGLED}`),
      400,
    ],
    ['an unknown coding', post(['transfer-encoding: xchunked'], SMUGGLED), 501],
    ['a coding behind a tab', post(['transfer-encoding:\tchunked,'], SMUGGLED), 501],
    ['a coding with a vertical tab', post(['transfer-encoding: \x0bchunked'], SMUGGLED), 400],
    [
      'a space before the colon',
      post(['transfer-encoding : chunked'], `0\r\n\r\n${SMUGGLED}`),
      400,
    ],
    ['a folded line', post(['x: y', ' transfer-encoding: chunked'], SMUGGLED), 400],
    ['a NUL in a value', post(['x: a\0b'], SMUGGLED), 400],
    ['a bare LF in the head', 'GET /a HTTP/1.1\nhost: x\n\n', 400],
    ['a bare LF between fields', 'GET /a HTTP/1.1\r\nhost: x\nx: y\r\n\r\n', 400],
    ['a bare CR', 'GET /a HTTP/1.1\r\nhost: x\rx: y\r\n\r\n', 400],
    ['two hosts', 'GET /a HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n', 400],
    ['no host', 'GET /a HTTP/1.1\r\n\r\n', 400],
    ['a host that disagrees with the target', 'GET http://y/a HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['Connection naming Host', 'GET /a HTTP/1.1\r\nhost: x\r\nconnection: host\r\n\r\n', 400],
    [
      'Connection naming Authorization',
      'GET /a HTTP/1.1\r\nhost: x\r\nauthorization: y\r\nconnection: authorization\r\n\r\n',
      400,
    ],
    [
      'chunks in HTTP/1.0',
      'POST /a HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['another version', 'GET /a HTTP/3.0\r\nhost: x\r\n\r\n', 505],
    ['two spaces in the request line', 'GET  /a HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['an encoded slash', 'GET /a%2fb HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['an encoded NUL', 'GET /a%00 HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['a backslash', 'GET /a\\b HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['a broken escape', 'GET /a%zz HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['CONNECT', 'CONNECT y:443 HTTP/1.1\r\nhost: y:443\r\n\r\n', 405],
    ['OPTIONS *, which is about no path', 'OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['the same in the absolute form', 'OPTIONS http://x HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['a user in the target', 'GET http://u@x/a HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['another port in the target', 'GET http://x:8/a HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['a fragment', 'GET /a#b HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['a byte that is not ASCII in the path', 'GET /\xe4 HTTP/1.1\r\nhost: x\r\n\r\n', 400],
    ['garbage', '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n', 400],
  ] as const) {
    it(`${title}: ${status}`, async () => {
      const { statuses, seen, text } = await through(request)
      assert.deepEqual(statuses, [status], text)
      assert.equal(seen, '')
      assert.match(text, /connection: close/)
    })
  }
})

describe('a body that turns out to be malformed', () => {
  for (const [title, body] of [
    ['a chunk size that is no number', `g\r\n${SMUGGLED}`],
    ['a chunk size that overflows', `fffffffffffffffff\r\n${SMUGGLED}`],
    ['a chunk that ends elsewhere', `3\r\nabcd\r\n0\r\n\r\n${SMUGGLED}`],
    ['a bare LF behind the size', `3\nabc\r\n0\r\n\r\n${SMUGGLED}`],
    ['a negative size', `-1\r\n${SMUGGLED}`],
    ['a size with 0x', `0x3\r\nabc\r\n0\r\n\r\n${SMUGGLED}`],
    ['a space before the size', ` 3\r\nabc\r\n0\r\n\r\n${SMUGGLED}`],
  ] as const) {
    it(`${title}: what comes behind it is no request`, async () => {
      const { statuses, seen, paths } = await through(post(['transfer-encoding: chunked'], body))
      assert.ok(
        statuses.every((status) => status === 400),
        `${statuses}`,
      )
      assert.doesNotMatch(seen, /smuggled/)
      assert.deepEqual(paths, ['/a'])
    })
  }
})

describe('rules, route and upstream see one path', () => {
  for (const [written, path] of [
    ['/x/../admin', '/admin'],
    ['/x/./admin', '/x/admin'],
    ['/x/%2e%2e/admin', '/admin'],
    ['/x/%2E%2e/admin', '/admin'],
    ['/%61dmin', '/admin'],
    ['/../../admin', '/admin'],
    ['//admin', '/admin'],
    ['/admin;a=b', '/admin;a=b'],
    ['/admin/', '/admin/'],
    ['/a%20b', '/a%20b'],
    ['/a%c3%a9', '/a%C3%A9'],
  ] as const) {
    it(`${written} is ${path}`, async () => {
      const { statuses, seen, paths } = await through(
        `GET ${written}?q=/../z HTTP/1.1\r\nhost: x\r\n\r\n`,
      )
      assert.deepEqual(statuses, [200])
      assert.deepEqual(paths, [path])
      assert.equal(seen.split('\r\n', 1)[0], `GET ${path}?q=/../z HTTP/1.1`)
    })
  }
})

describe('CONNECT', () => {
  it('gets the allowed methods', async () => {
    const { text } = await through('CONNECT y:443 HTTP/1.1\r\nhost: y:443\r\n\r\n')
    assert.match(text, /^HTTP\/1\.1 405 [\s\S]*\r\nallow: GET, HEAD, POST, /)
  })
})

describe('tunnels that would carry HTTP past the rules are rejected', () => {
  const SWITCH = 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'

  for (const [title, version, upgrade] of [
    ['h2c', '1.1', 'h2c'],
    ['h2c beside WebSocket', '1.1', 'websocket, h2c'],
    ['TLS', '1.1', 'TLS/1.2'],
    ['HTTP/1.0', '1.0', 'websocket'],
  ] as const) {
    it(`${title}: the backend does not hear of it, and may not choose it`, async () => {
      const upstream = await startEcho(SWITCH)
      const gateway = await startGateway(upstream.port)
      opened.push(upstream, gateway)
      const lines = `connection: upgrade, http2-settings\r\nupgrade: ${upgrade}\r\nhttp2-settings: AA`
      const request = `GET /a HTTP/${version}\r\nhost: x\r\n${lines}\r\n\r\n`
      assert.match(await exchange(gateway.port, request, /request id/), /^HTTP\/1\.1 502 /)
      assert.doesNotMatch(upstream.received.join(''), /h2c|tls|http2-settings/i)
      assert.equal(gateway.runs[0]?.exchange.detail, 'unasked-upgrade')
    })
  }
})
