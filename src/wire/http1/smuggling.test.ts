import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BodyReader, beginBody, readBody } from './body.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { HEAD_LIMITS } from './message.ts'
import { rejectionOf } from './rejections.ts'

/**
 * Known causes of disagreement between two servers on where a request ends or what it requests.
 * Each row is a stream of bytes and its result: every request that the gateway accepted with its
 * body, then the rejection of the following bytes, `waits` for more, or nothing if the stream is
 * used up.
 */
const TABLE: readonly (readonly [name: string, stream: string, ...became: readonly string[]])[] = [
  // Content-Length against Transfer-Encoding
  [
    'CL.TE',
    post('Content-Length: 6', 'Transfer-Encoding: chunked', '', '0', '', 'G'),
    'both-lengths',
  ],
  [
    'TE.CL',
    post('Transfer-Encoding: chunked', 'Content-Length: 3', '', '0', '', ''),
    'both-lengths',
  ],
  [
    'both, length 0',
    post('Content-Length: 0', 'Transfer-Encoding: chunked', '', ''),
    'both-lengths',
  ],
  [
    'both, coding not ours',
    post('Content-Length: 1', 'Transfer-Encoding: identity', '', ''),
    'both-lengths',
  ],
  [
    'TE.TE',
    post('Transfer-Encoding: chunked', 'Transfer-Encoding: x', '', ''),
    'duplicate-transfer-encoding',
  ],
  [
    'chunked twice',
    post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked', '', ''),
    'duplicate-transfer-encoding',
  ],
  [
    'chunked, chunked',
    post('Transfer-Encoding: chunked, chunked', '', ''),
    'unknown-transfer-coding',
  ],
  [
    'chunked, identity',
    post('Transfer-Encoding: chunked, identity', '', ''),
    'unknown-transfer-coding',
  ],
  ['gzip, chunked', post('Transfer-Encoding: gzip, chunked', '', ''), 'unknown-transfer-coding'],
  ['xchunked', post('Transfer-Encoding: xchunked', '', ''), 'unknown-transfer-coding'],
  ['"chunked"', post('Transfer-Encoding: "chunked"', '', ''), 'unknown-transfer-coding'],
  ['chunked;x', post('Transfer-Encoding: chunked;x', '', ''), 'unknown-transfer-coding'],
  ['no coding', post('Transfer-Encoding:', '', ''), 'unknown-transfer-coding'],
  [
    'a comma before chunked',
    post('Transfer-Encoding: ,chunked', '', ''),
    'unknown-transfer-coding',
  ],
  [
    'a vertical tab before chunked',
    post('Transfer-Encoding: \vchunked', '', ''),
    'bad-header-value',
  ],
  ['a form feed behind chunked', post('Transfer-Encoding: chunked\f', '', ''), 'bad-header-value'],
  [
    'a no-break space before chunked',
    post('Transfer-Encoding: \xa0chunked', '', ''),
    'unknown-transfer-coding',
  ],
  [
    'a NEL behind chunked',
    post('Transfer-Encoding: chunked\x85', '', ''),
    'unknown-transfer-coding',
  ],
  [
    'a tab before chunked is white space',
    post('Transfer-Encoding:\tchunked', '', '0', '', ''),
    'POST / ""',
  ],
  ['CHUNKED is chunked', post('TRANSFER-ENCODING: CHUNKED', '', '0', '', ''), 'POST / ""'],
  [
    'a coding in HTTP/1.0',
    'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'transfer-coding-in-http-1.0',
  ],
  [
    'an underscore in Transfer_Encoding counts for nothing',
    post('Transfer_Encoding: chunked', '', ''),
    'POST / ""',
  ],
  [
    'an underscore beside a length',
    post('Content-Length: 1', 'Transfer_Encoding: chunked', '', 'a'),
    'POST / "a"',
  ],

  // Content-Length itself
  [
    'two lengths',
    post('Content-Length: 1', 'Content-Length: 2', '', 'ab'),
    'duplicate-content-length',
  ],
  [
    'two equal lengths',
    post('Content-Length: 1', 'content-length: 1', '', 'a'),
    'duplicate-content-length',
  ],
  ['a list of lengths', post('Content-Length: 1, 1', '', 'a'), 'bad-content-length'],
  ['a sign', post('Content-Length: +1', '', 'a'), 'bad-content-length'],
  ['minus nothing', post('Content-Length: -0', '', ''), 'bad-content-length'],
  ['a fraction', post('Content-Length: 1.0', '', 'a'), 'bad-content-length'],
  ['an exponent', post('Content-Length: 1e1', '', 'a'), 'bad-content-length'],
  ['hexadecimal', post('Content-Length: 0x1', '', 'a'), 'bad-content-length'],
  ['no length', post('Content-Length:', '', ''), 'bad-content-length'],
  ['a space inside', post('Content-Length: 1 0', '', ''), 'bad-content-length'],
  ['a digit of another script', post('Content-Length: \xb2', '', ''), 'bad-content-length'],
  ['2^53', post('Content-Length: 9007199254740992', '', ''), 'bad-content-length'],
  ['2^64 + 1', post('Content-Length: 18446744073709551617', '', 'a'), 'bad-content-length'],
  ['zeros in front', post('Content-Length: 0001', '', 'a'), 'POST / "a"'],
  ['CL.0', post('Content-Length: 5', '', 'GET /'), 'POST / "GET /"'],

  // Lines and names
  ['a bare LF behind the request line', 'GET / HTTP/1.1\nHost: a\r\n\r\n', 'bare-lf'],
  ['a bare LF behind a field', get('X: a\nY: b', '', ''), 'bare-lf'],
  ['a bare LF as the empty line', get('X: a', '\n'), 'bare-lf'],
  ['a bare LF in a name', get('X\nTransfer-Encoding: chunked', '', ''), 'bare-lf'],
  ['a bare CR in a value', get('X: a\rTransfer-Encoding: chunked', '', ''), 'bare-cr'],
  ['a bare CR before CR LF', get('X: a\r', '', ''), 'bare-cr'],
  ['a bare CR as the empty line', get('\rX: a', '', ''), 'bare-cr'],
  ['a bare CR in a name', get('X\rY: a', '', ''), 'bad-header-name'],
  ['NUL in a value', get('X: a\0b', '', ''), 'nul'],
  ['NUL in a name', get('X\0: a', '', ''), 'nul'],
  ['NUL in the target', 'GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n', 'nul'],
  ['NUL in the method', 'G\0ET / HTTP/1.1\r\nHost: a\r\n\r\n', 'nul'],
  ['a space before the colon', post('Content-Length : 5', '', 'GET /'), 'space-before-colon'],
  ['a tab before the colon', post('Transfer-Encoding\t: chunked', '', ''), 'space-before-colon'],
  ['a folded value', post('X: a', ' Transfer-Encoding: chunked', '', ''), 'obs-fold'],
  ['a folded value by tab', post('Transfer-Encoding:', '\tchunked', '', ''), 'obs-fold'],
  ['a space before the first field', 'GET / HTTP/1.1\r\n Host: a\r\n\r\n', 'obs-fold'],
  ['a line without colon', get('Transfer-Encoding chunked', '', ''), 'space-before-colon'],
  ['a line without colon or space', get('chunked', '', ''), 'bad-header-name'],
  ['no name', get(': chunked', '', ''), 'bad-header-name'],
  ['a name with a quote', get('"Host": b', '', ''), 'bad-header-name'],
  ['a name beyond ASCII', get('H\xf6st: b', '', ''), 'bad-header-name'],
  ['DEL in a value', get('X: a\x7f', '', ''), 'bad-header-value'],
  ['a backspace in a value', get('X: a\b', '', ''), 'bad-header-value'],
  ['one empty line before a request', `\r\n${get('', '')}`, 'GET / ""'],
  ['two empty lines before a request', `\r\n\r\n${get('', '')}`, 'bad-request-line'],
  ['a bare LF before a request', `\n${get('', '')}`, 'bare-lf'],
  ['a space before a request', ` ${get('', '')}`, 'bad-request-line'],

  // Host and the other places of the authority
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 'missing-host'],
  ['no Host in HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', 'GET / ""'],
  ['two hosts', get('Host: b', '', ''), 'duplicate-host'],
  ['the same host twice', get('host: a', '', ''), 'duplicate-host'],
  ['an empty Host', 'GET / HTTP/1.1\r\nHost:\r\n\r\n', 'bad-host'],
  ['a list of hosts', 'GET / HTTP/1.1\r\nHost: a, b\r\n\r\n', 'bad-host'],
  ['a path in Host', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 'bad-host'],
  ['a user in Host', 'GET / HTTP/1.1\r\nHost: a@b\r\n\r\n', 'bad-host'],
  ['a query in Host', 'GET / HTTP/1.1\r\nHost: a?b\r\n\r\n', 'bad-host'],
  ['an escape in Host', 'GET / HTTP/1.1\r\nHost: a%2eb\r\n\r\n', 'bad-host'],
  ['two ports', 'GET / HTTP/1.1\r\nHost: a:80:81\r\n\r\n', 'bad-host'],
  ['a port that is none', 'GET / HTTP/1.1\r\nHost: a:80x\r\n\r\n', 'bad-host'],
  ['an absolute target against Host', 'GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n', 'host-mismatch'],
  ['the port of another scheme', 'GET https://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n', 'host-mismatch'],
  ['another port in the target', 'GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n', 'host-mismatch'],
  ['an absolute target with its Host', 'GET http://A/x HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /x ""'],
  ['a user in the target', 'GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n', 'bad-target'],
  ['a backslash in the authority', 'GET http://a\\@b/ HTTP/1.1\r\nHost: b\r\n\r\n', 'bad-target'],
  ['another scheme', 'GET file:///etc HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-target'],
  ['a target without slash', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-target'],
  ['a query alone', 'GET ?a HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-target'],
  ['an asterisk with GET', 'GET * HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-target'],
  ['CONNECT to a path', 'CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-target'],
  ['CONNECT elsewhere than Host', 'CONNECT b:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 'host-mismatch'],

  // The request line
  ['two spaces', 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-request-line'],
  ['a tab for a space', 'GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-request-line'],
  ['a space in the target', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-request-line'],
  ['a space behind the version', 'GET / HTTP/1.1 \r\nHost: a\r\n\r\n', 'bad-request-line'],
  ['two versions', 'GET / HTTP/1.1 HTTP/1.0\r\nHost: a\r\n\r\n', 'bad-request-line'],
  ['no version', 'GET /\r\n\r\n', 'bad-request-line'],
  ['http in lower case', 'GET / http/1.1\r\nHost: a\r\n\r\n', 'bad-request-line'],
  ['HTTP/1.10', 'GET / HTTP/1.10\r\nHost: a\r\n\r\n', 'bad-request-line'],
  ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: a\r\n\r\n', 'unknown-version'],
  ['HTTP/0.9', 'GET / HTTP/0.9\r\nHost: a\r\n\r\n', 'unknown-version'],
  ['another protocol', 'INVALID CONNECTION PREFACE\r\n\r\n', 'not-http'],
  ['another protocol, whose first words are those of a request', 'GET a b\r\n\r\n', 'not-http'],
  ['a target that is no path', 'GET a HTTP\r\n\r\n', 'bad-request-line'],
  ['a path, and no version', 'GET /a b\r\n\r\n', 'bad-request-line'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'http2-preface'],
  ['a method in lower case', 'get / HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-method'],
  ['a fragment', 'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-target'],
  ['a target beyond ASCII', 'GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n', 'bad-target'],
  ['a response for a request', 'HTTP/1.1 200 OK\r\n\r\n', 'bad-request-line'],
  ['TLS on a plain port', '\x16\x03\x01\x02\0', 'bad-request-line'],

  // Connection
  ...[
    'host',
    'content-length',
    'Transfer-Encoding',
    'authorization',
    'Cookie',
    'X-Forwarded-For',
  ].map(
    (name) =>
      [
        `Connection names ${name}`,
        get(`Connection: ${name}`, '', ''),
        'connection-names-end-to-end',
      ] as const,
  ),
  ['Connection that is no list', get('Connection: a b', '', ''), 'bad-connection'],
  [
    'Connection with many names',
    get(`Connection: ${'abcdefghijklmnopq'.split('')}`, '', ''),
    'bad-connection',
  ],
  ['an expectation that nobody knows', post('Expect: 101-switch', '', ''), 'unknown-expectation'],

  // What follows a request
  ['a pipeline', `${post('Content-Length: 1', '', 'a')}${get('', '')}`, 'POST / "a"', 'GET / ""'],
  ['a body that nobody announced', `${get('', '')}GET /b`, 'GET / ""', 'waits'],
  ['a body that is not all there', post('Content-Length: 2', '', 'a'), 'waits'],
]

function post(...lines: readonly string[]): string {
  return ['POST / HTTP/1.1', 'Host: a', ...lines].join('\r\n')
}

function get(...lines: readonly string[]): string {
  return ['GET / HTTP/1.1', 'Host: a', ...lines].join('\r\n')
}

describe('request smuggling', () => {
  for (const [name, stream, ...became] of TABLE) {
    it(`${name}: ${became.join(', ')}`, () => assert.deepEqual(readStream(stream), became))
  }
})

function readStream(stream: string): string[] {
  const bytes = Buffer.from(stream, 'latin1')
  const head = new RequestHead()
  const body = new BodyReader()
  const became: string[] = []
  for (let at = 0; at < bytes.length; ) {
    at = readRequestHead(bytes, at, bytes.length, HEAD_LIMITS, head)
    if (at <= 0) return [...became, at === 0 ? 'waits' : rejectionOf(at).word]
    beginBody(body, head.framing, head.length)
    let data = ''
    while (at < bytes.length && !body.isDone) {
      at = readBody(body, bytes, at, bytes.length)
      if (at < 0) return [...became, rejectionOf(at).word]
      data += bytes.toString('latin1', body.from, body.to)
    }
    if (!body.isDone) return [...became, 'waits']
    became.push(`${head.method} ${head.path} ${JSON.stringify(data)}`)
  }
  return became
}
