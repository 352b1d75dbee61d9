import assert from 'node:assert/strict'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { free } from '../proxy/accepting.ts'
import { type RawUpstream, startUpstream } from '../proxy/harness.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'
import { assertProperty } from './assert-property.ts'
import { type BodyProcessors, processorPolicy, startBodyProcessors } from './body-processors.ts'
import { fuzz } from './runs.ts'
import { decoded, mayHaveBody, type Read, readResponse } from './strict-responses.ts'

/**
 * Response policies, as configured in a file, between a backend that frames, encodes and aborts its
 * responses in every way and a client that reads bytes. The next response on the connection must be
 * the next response, a body must be the result of the policies, and a truncated response must never
 * look complete.
 */

const BODY = `transformations: { response: { body: "'<' + string(response.body) + '>'", remove: [x-gone] } }`
const BUFFER = 'buffer: { response: { maxBytes: 9000 } }'
const COMPRESSION = 'compression: { minBytes: 1 }'
const STATUS = `transformations: { response: { set: { ':status': "int(request.headers['x-status'])" } } }`

const processor = (mode: string) => processorPolicy('responseBody', mode)

const POLICIES = {
  headers: 'transformations: { response: { set: { x-b: "1" }, remove: [x-gone] } }',
  compression: COMPRESSION,
  body: BODY,
  buffer: BUFFER,
  status: STATUS,
  'buffer-status': `${BUFFER}, ${STATUS}`,
  'compression-status': `${COMPRESSION}, ${STATUS}`,
  all: `${BODY}, ${BUFFER}, ${COMPRESSION}`,
  processed: processor('buffered'),
  'processed-pieces': processor('fullDuplexStreamed'),
  'processed-compression': `${processor('buffered')}, ${COMPRESSION}`,
  'processed-pieces-body': `${processor('fullDuplexStreamed')}, ${BODY}, ${COMPRESSION}`,
  'processed-body-status': `${processor('buffered')}, ${BUFFER}, ${BODY.replace('remove', `set: { ':status': "int(request.headers['x-status'])" }, remove`)}`,
} as const
type Name = keyof typeof POLICIES

interface Script {
  readonly route: Name
  readonly version: '1.0' | '1.1'
  readonly method: 'GET' | 'HEAD' | 'POST'
  readonly accept: string
  readonly status: number
  readonly becomes: number
  readonly framing: 'length' | 'chunked' | 'close'
  readonly body: string
  readonly isCoded: boolean
  readonly isCut: boolean
  readonly trailers: boolean
  readonly early: boolean
  /** Bytes between two turns of the backend. */
  readonly piece: number
}

const anyScripts: fc.Arbitrary<Script> = fc.record({
  route: fc.constantFrom(...(Object.keys(POLICIES) as Name[])),
  version: fc.constantFrom('1.0', '1.1', '1.1', '1.1'),
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST'),
  accept: fc.constantFrom('', 'gzip', 'br;q=0.1, *;q=0', 'zstd, gzip;q=0.9', 'identity', '*'),
  status: fc.constantFrom(200, 200, 200, 204, 304, 404, 500, 206),
  becomes: fc.constantFrom(200, 201, 204, 205, 304, 418),
  framing: fc.constantFrom('length', 'chunked', 'close'),
  body: fc.oneof(
    fc.constant(''),
    fc.constant('HTTP/1.1 299 Smuggled\r\ncontent-length: 0\r\n\r\n'),
    fc.string({ unit: fc.constantFrom(...'ab\r\n0'), maxLength: 60 }),
    fc.nat(8_000).map((length) => 'abc'.repeat(length / 3)),
  ),
  isCoded: fc.boolean(),
  isCut: fc.constantFrom(false, false, false, true),
  trailers: fc.boolean(),
  early: fc.boolean(),
  piece: fc.constantFrom(1, 7, 100, 1 << 20),
})

/** The service receives the bytes as they are, and this one only supports plain text. */
const scripts = anyScripts.map((script) =>
  script.route.startsWith('processed') ? { ...script, isCoded: false } : script,
)

/** The bytes that the backend writes, and whether it closes the connection after them. */
function written(script: Script): { text: string; closes: boolean } {
  const { method, status, framing, isCoded, isCut, trailers, early } = script
  const content = isCoded ? gzipSync(script.body).toString('latin1') : script.body
  const hasBody = mayHaveBody(status, method)
  const fields = [
    'content-type: text/plain',
    'x-gone: 1',
    ...(isCoded ? ['content-encoding: gzip'] : []),
    ...(framing === 'length' && status !== 204 ? [`content-length: ${content.length}`] : []),
    ...(framing === 'chunked' && hasBody ? ['transfer-encoding: chunked'] : []),
    ...(framing === 'close' ? ['connection: close'] : []),
  ]
  const head = `HTTP/1.1 ${status} X\r\n${fields.join('\r\n')}\r\n\r\n`
  const chunks = content === '' ? '' : `${content.length.toString(16)};a=b\r\n${content}\r\n`
  const last = `0\r\n${trailers ? 'x-gone: 1\r\nx-sum: 1\r\n' : ''}\r\n`
  const body = !hasBody ? '' : framing === 'chunked' ? chunks + last : content
  const all = `${early ? 'HTTP/1.1 103 E\r\nx-gone: 1\r\n\r\n' : ''}${head}${body}`
  const cut = isBroken(script) ? all.slice(0, -1) : all
  return { text: cut, closes: isCut || framing === 'close' }
}

/** Whether part of the body is missing in a way that the client can detect. */
function isBroken({ isCut, framing, method, status, body, isCoded }: Script): boolean {
  if (!isCut || framing === 'close' || !mayHaveBody(status, method)) return false
  return framing === 'chunked' || body !== '' || isCoded
}

interface Expected {
  readonly status: number
  /** The decoded body; undefined: the response must not look complete. */
  readonly body: string | undefined
}

function expected(script: Script): Expected {
  const { route, method, status, becomes } = script
  const isBody = POLICIES[route].includes('response.body')
  const isPieces = route.startsWith('processed-pieces')
  const isProcessed = route.startsWith('processed') && !isPieces
  const isWhole = isBody || isProcessed || route.startsWith('buffer')
  const changed = route.endsWith('status') ? becomes : isBody && status === 206 ? 200 : status
  if (isBroken(script) && isWhole) {
    // The gateway's own response, which the policies also apply to.
    const own = route.endsWith('status') ? becomes : 502
    return { status: own, body: mayHaveBody(own, method) && own !== 205 ? 'Bad Gateway' : '' }
  }
  if (!mayHaveBody(changed, method) || changed === 205) return { status: changed, body: '' }
  if (!mayHaveBody(status, method)) return { status: changed, body: '' }
  if (isBroken(script)) return { status: changed, body: undefined }
  const body = isBody ? `<${script.body}>` : script.body
  if (isPieces) return { status: changed, body: body.replaceAll('a', 'A') }
  return { status: changed, body: isProcessed && body !== '' ? `{${body}}` : body }
}

describe('response policies', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let processors: BodyProcessors
  let port: number

  const respond = async (socket: Socket, request: string) => {
    const script: Script = JSON.parse(/^x-script: (.*)\r$/im.exec(request)?.[1] ?? assert.fail())
    const { text, closes } = written(script)
    for (let at = 0; at < text.length; at += script.piece) {
      socket.write(text.slice(at, at + script.piece), 'latin1')
      if (at < 20 * script.piece) await turn()
      else {
        socket.write(text.slice(at + script.piece), 'latin1')
        break
      }
    }
    if (closes) socket.end()
  }

  before(async () => {
    upstream = await startUpstream((text, socket) => {
      if (text.startsWith('GET /next'))
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnext')
      else if (text.includes('\r\n\r\n')) void respond(socket, text)
    })
    processors = await startBodyProcessors('responseBody')
    port = await free()
    const routes = Object.entries(POLICIES).map(
      ([name, policies]) =>
        `- name: ${name}\n  matches: [{ path: { exact: /${name} } }]\n  policies: { ${processors.withPorts(policies)} }\n` +
        `  backends: [{ host: 127.0.0.1:${upstream.port} }]\n`,
    )
    gateway = await startWhole(
      `gateways: { default: { port: ${port} } }\nroutes:\n${routes.join('')}` +
        `- name: next\n  backends: [{ host: 127.0.0.1:${upstream.port} }]\n`,
    )
  })

  after(async () => {
    await gateway.stop()
    processors.close()
    upstream.close()
  })

  /**
   * Sends the request and another one after it on the same connection. `isEnded`: the connection
   * was not reset.
   */
  const ask = ({ route, version, method, accept, becomes, ...rest }: Script) =>
    new Promise<{ bytes: Buffer; isEnded: boolean }>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' })
      const pieces: Buffer[] = []
      let isEnded = false
      socket.on('data', (bytes: Buffer) => pieces.push(bytes))
      socket.on('end', () => {
        isEnded = true
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve({ bytes: Buffer.concat(pieces), isEnded }))
      const script = JSON.stringify({ route, version, method, accept, becomes, ...rest })
      const fields = `host: x\r\nx-status: ${becomes}\r\nx-script: ${script}\r\nte: trailers\r\n`
      const asked = accept === '' ? '' : `accept-encoding: ${accept}\r\n`
      const own = method === 'POST' ? 'content-length: 2\r\n\r\nhi' : '\r\n'
      const second = 'GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
      const option = version === '1.0' ? 'connection: keep-alive\r\n' : 'connection: te\r\n'
      socket.write(
        `${method} /${route} HTTP/${version}\r\n${fields}${option}${asked}${own}${second}`,
      )
    })

  /** The same over HTTP/2; `own` is undefined if the stream ended with an error. */
  const askHttp2 = (session: ClientHttp2Session, script: Script) =>
    new Promise<{ own: Read | undefined; early: ReadonlyMap<string, string>[] }>((resolve) => {
      const { route, method, accept, becomes } = script
      const fields = {
        ':method': method,
        ':path': `/${route}`,
        'x-status': String(becomes),
        'x-script': JSON.stringify(script),
        te: 'trailers',
        ...(accept === '' ? {} : { 'accept-encoding': accept }),
      }
      const stream = session.request(fields, { endStream: method !== 'POST' })
      if (method === 'POST') stream.end('hi')
      const early: ReadonlyMap<string, string>[] = []
      const pieces: Buffer[] = []
      let head: ReadonlyMap<string, string> = new Map()
      let trailers = ''
      let hasEnded = false
      const read = (found: object) =>
        new Map(Object.entries(found).map(([name, value]) => [name, String(value)]))
      stream.on('headers', (found) => early.push(read(found)))
      stream.on('response', (found) => {
        head = read(found)
      })
      stream.on('trailers', (found) => {
        trailers = Object.keys(found).join('\n')
      })
      stream.on('data', (bytes: Buffer) => pieces.push(bytes))
      stream.on('end', () => {
        hasEnded = true
      })
      stream.on('error', () => {})
      stream.on('close', () => {
        const body = Buffer.concat(pieces)
        const status = Number(head.get(':status'))
        const isWhole = hasEnded && stream.rstCode === 0 && status > 0
        const rest = Buffer.alloc(0)
        resolve({
          early,
          own: isWhole ? { status, fields: head, body, trailers, rest } : undefined,
        })
      })
    })

  const check = (script: Script, own: Read | undefined) => {
    const { status, body } = expected(script)
    if (body === undefined) {
      // Until the service has responded to the body, the gateway can still send an error.
      const isEarly = script.route.startsWith('processed') && own?.status === 502
      if (isEarly) assert.match(decoded(own as Read), /^<?Bad Gateway\n/)
      else assert.equal(own, undefined, 'it looks whole')
      return false
    }
    assert.ok(own !== undefined, 'it is not whole')
    assert.equal(own.status, status)
    const text = own.body.length === 0 ? '' : decoded(own)
    if (body === 'Bad Gateway') assert.match(text, /^<?Bad Gateway\n/)
    else assert.equal(text, body)
    if (POLICIES[script.route].includes('x-gone')) {
      assert.ok(!own.fields.has('x-gone'))
      assert.doesNotMatch(own.trailers, /x-gone/)
    }
    return true
  }

  it('produce the expected response, and the next response after it', async () => {
    await assertProperty(
      'way-back-policies',
      fc.asyncProperty(scripts, async (script) => {
        const { bytes, isEnded } = await ask(script)
        const isRemoved = POLICIES[script.route].includes('x-gone')
        let own = readResponse(bytes, script.method, isEnded)
        while (own !== undefined && own.status < 200) {
          assert.notEqual(own.fields.has('x-gone'), isRemoved)
          own = readResponse(own.rest, script.method, isEnded)
        }
        if (!check(script, own) || own === undefined) return
        if (own.rest.length === 0) {
          // Only if the end of the connection is the end of the body.
          assert.ok(own.fields.get('connection') === 'close', 'the next response is missing')
          return
        }
        const next = readResponse(own.rest, 'GET', isEnded)
        assert.deepEqual([next?.status, next?.body.toString()], [200, 'next'])
        assert.equal(next?.rest.length, 0)
      }),
      fuzz(1, 200),
    )
  })

  it('produce the same over HTTP/2', async () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    try {
      await assertProperty(
        'way-back-policies-faults',
        fc.asyncProperty(scripts, async (script) => {
          const { own, early } = await askHttp2(session, script)
          for (const fields of early)
            assert.notEqual(fields.has('x-gone'), POLICIES[script.route].includes('x-gone'))
          check(script, own)
        }),
        fuzz(0.5, 150),
      )
    } finally {
      session.destroy()
    }
  })
})
