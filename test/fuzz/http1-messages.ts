import fc from 'fast-check'

/** Field lines that have a meaning for a gateway, both valid and invalid. */
const LINES = [
  'Host: example.com',
  'host: EXAMPLE.com:8080',
  'Host: [::1]:80',
  'Host: a.b.',
  'Host:',
  'Host: a b',
  'Content-Length: 5',
  'content-length:0',
  'content-length: 5, 5',
  'content-length: 5 ,5,6',
  'Content-Length: 0005 ',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 9007199254740991',
  'Content-Length: 9007199254740992',
  'Content_Length: 5',
  'Transfer-Encoding: chunked',
  'transfer-encoding:\tCHUNKED\t',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: xchunked',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding : chunked',
  'Connection: keep-alive',
  'Connection: close',
  'Connection: close, keep-alive',
  'Connection: upgrade, x-a',
  'Connection: ,x-a,,\tX-B ,',
  'Connection: authorization',
  'Connection: x-forwarded-for, close',
  'Connection: te',
  'Connection: a b',
  'Upgrade: WebSocket',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'Expect: 100-Continue',
  'Expect: 200-ok',
  'TE: trailers',
  'TE: gzip;q=0.5 , Trailers',
  'Trailer: x-sum',
  'Date: Sun, 06 Nov 1994 08:49:37 GMT',
  'Keep-Alive: timeout=5',
  'Proxy-Connection: keep-alive',
  'X-A: 1',
  'x-b: two\twords',
  'x_a: underscored',
  'Cookie: a=b; c=d',
  'X-Long: 0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz',
  'X-Latin: D\xfcsseldorf \xff\x80',
  'X-Empty:   ',
  ' folded',
  'no colon',
  ': no name',
  'b@d: name',
]

const REQUEST_LINES = [
  'GET / HTTP/1.1',
  'POST /a/b?c=d HTTP/1.1',
  'PUT /x HTTP/1.0',
  'HEAD /../%2e%2E/a HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'OPTIONS http://example.com HTTP/1.1',
  'GET http://example.com/a?b HTTP/1.1',
  'GET HTTPS://EXAMPLE.com:8080?b HTTP/1.1',
  'CONNECT example.com:443 HTTP/1.1',
  'GET http://user@example.com/ HTTP/1.1',
  'PRI * HTTP/2.0',
  'BREW /pot HTTP/1.1',
  'get / HTTP/1.1',
  'GET /',
  'GET  / HTTP/1.1',
  'GET / HTTP/1.1 ',
  'GET /a#b HTTP/1.1',
  'GET / HTTP/1.2',
  'GET / http/1.1',
  'GET /\xe9 HTTP/1.1',
]

const STATUS_LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 100 Continue',
  'HTTP/1.1 101 Switching Protocols',
  'HTTP/1.1 404',
  'HTTP/1.1 500 ',
  'HTTP/1.1 600 No',
  'HTTP/1.1  200 OK',
  'HTTP/1.1 20 OK',
  'HTTP/2.0 200 OK',
  'ICY 200 OK',
]

/** Fragments to insert where they do not belong. */
const SHARDS = [
  ...['\r', '\n', '\r\n', '\n\r', '\0', ' ', '\t', ':', ',', ';', '?', '#', '/', '\x7f', '\x01'],
  ...['\xff', '\x80', '\x0b', '\x85', '\xa0', '_', '-', '0', 'chunked', 'HTTP/1.1', '\r\n\r\n'],
]

export function mutatedRequest(): fc.Arbitrary<string> {
  return mutated(messages(REQUEST_LINES))
}

export function mutatedResponse(): fc.Arbitrary<string> {
  return mutated(messages(STATUS_LINES))
}

function messages(firstLines: readonly string[]): fc.Arbitrary<string> {
  const usual = { weight: 3, arbitrary: fc.constantFrom(...firstLines.slice(0, 3)) }
  const first = fc.oneof(usual, { weight: 2, arbitrary: fc.constantFrom(...firstLines) })
  const host = fc.constantFrom('Host: example.com\r\n', 'Host: example.com\r\n', '')
  const lines = fc.array(fc.constantFrom(...LINES), { maxLength: 6 })
  return fc.tuple(first, host, lines).map(([line, hostLine, others]) => {
    return `${line}\r\n${hostLine}${others.map((each) => `${each}\r\n`).join('')}\r\nbody`
  })
}

/** Leaves half of the messages unchanged, since valid messages are parsed further. */
export function mutated(arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const bytes = fc.string({
    unit: fc.nat(255).map((code) => String.fromCharCode(code)),
    maxLength: 3,
  })
  const shard = fc.oneof(fc.constantFrom(...SHARDS), bytes)
  const edit = fc.tuple(place(), fc.nat(4), shard)
  const edits = fc.oneof(fc.constant([]), fc.array(edit, { minLength: 1, maxLength: 4 }))
  return fc.tuple(arbitrary, edits).map(([text, all]) =>
    all.reduce((result, [share, cut, by]) => {
      const at = Math.floor(share * result.length)
      return result.slice(0, at) + by + result.slice(at + cut)
    }, text),
  )
}

/** A uniformly distributed position in a text; fast-check prefers small numbers. */
function place(): fc.Arbitrary<number> {
  return fc.noBias(fc.nat(9_999)).map((share) => share / 10_000)
}

/** Where a text is split: nowhere, everywhere, or in a few places. */
export function portions(): fc.Arbitrary<(length: number) => number[]> {
  const places = fc.array(place(), {
    minLength: 1,
    maxLength: 4,
  })
  return fc.oneof(
    fc.constant((length: number) => [length]),
    fc.constant((length: number) => Array.from({ length }, (_, i) => i + 1)),
    places.map((all) => (length: number) => [
      ...all.map((share) => Math.floor(share * length)).sort((a, b) => a - b),
      length,
    ]),
  )
}
