import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { free } from '../proxy/accepting.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'
import { assertProperty } from './assert-property.ts'
import { type BodyProcessors, processorPolicy, startBodyProcessors } from './body-processors.ts'
import { fuzz } from './runs.ts'

/**
 * Policies on request bodies, as configured in a file, between a client that frames, encodes and
 * aborts its requests in every way and another HTTP server as the backend. The body that arrives
 * must be the result of the policies, and a truncated body must never arrive as if it were
 * complete.
 */

const MAX = 9_000
const BODY = `transformations: { request: { body: "'<' + string(request.body) + '>'", set: { x-b: "'1'" } } }`
const BUFFER = `buffer: { request: { maxBytes: ${MAX} } }`
const OPEN = `buffer: { request: { maxBytes: ${MAX}, failureMode: FailOpen } }`
const RULE = `authorization: { rules: [{ deny: "string(request.body).contains('evil')" }] }`
const RETRY = 'retry: { attempts: 2, codes: [503] }'
const processor = (mode: string) => processorPolicy('requestBody', mode)

const POLICIES = {
  none: 'requestHeaders: { set: { x-b: "1" } }',
  rule: RULE,
  body: BODY,
  buffer: BUFFER,
  open: OPEN,
  retry: RETRY,
  'rule-body-retry': `${RULE}, ${BODY}, ${RETRY}`,
  'body-buffer': `${BODY}, ${BUFFER}`,
  processed: processor('buffered'),
  'processed-pieces': processor('fullDuplexStreamed'),
  'processed-body': `${processor('buffered')}, ${BODY}, ${RETRY}`,
  'processed-pieces-buffer': `${RULE}, ${processor('fullDuplexStreamed')}, ${BUFFER}`,
} as const
type Name = keyof typeof POLICIES

interface Script {
  readonly route: Name
  readonly version: '1.0' | '1.1' | '2'
  readonly framing: 'length' | 'chunked'
  readonly body: string
  readonly coding: 'none' | 'gzip' | 'broken'
  readonly isCut: boolean
  readonly trailers: boolean
  readonly expects: boolean
  readonly fails: boolean
  /** Bytes between two turns of the client. */
  readonly piece: number
}

const anyScripts: fc.Arbitrary<Script> = fc.record({
  route: fc.constantFrom(...(Object.keys(POLICIES) as Name[])),
  version: fc.constantFrom('1.1', '1.1', '2', '2', '1.0'),
  framing: fc.constantFrom('length', 'chunked'),
  body: fc.oneof(
    fc.constant(''),
    fc.constant('an evil body'),
    fc.constant('GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n'),
    fc.string({ unit: fc.constantFrom(...'ab\r\n0'), maxLength: 60 }),
    fc.nat(8_000).map((length) => 'abc'.repeat(length / 3)),
    fc.nat(30_000).map((length) => 'cab'.repeat(length / 3)),
  ),
  coding: fc.constantFrom('none', 'none', 'gzip', 'broken'),
  isCut: fc.constantFrom(false, false, false, true),
  trailers: fc.boolean(),
  expects: fc.boolean(),
  fails: fc.boolean(),
  piece: fc.constantFrom(1, 7, 100, 1 << 20),
})

/** HTTP/1.0 has no chunked coding, and the service only supports plain text. */
const scripts = anyScripts.map((script): Script => {
  const framing = script.version === '1.0' ? 'length' : script.framing
  const coding = script.route.startsWith('processed') ? 'none' : script.coding
  const expects = script.expects && script.version === '1.1'
  return { ...script, framing, coding, expects }
})

const has = ({ route }: Script, policy: string) => POLICIES[route].includes(policy)

function contentOf({ body, coding }: Script): Buffer {
  if (coding === 'none') return Buffer.from(body)
  const coded = gzipSync(body)
  return coding === 'gzip' ? coded : Buffer.concat([Buffer.from('no'), coded])
}

/** All bytes that the client writes, in two parts: the second may have to wait for 100. */
function written(script: Script, id: number): readonly [head: string, rest: Buffer] {
  const { route, version, framing, coding, isCut, trailers, expects, fails } = script
  const content = contentOf(script)
  const fields = [
    'host: x',
    `x-id: ${id}`,
    'digest: sha-256=of-what-came',
    ...(fails ? ['x-fail: 1'] : []),
    ...(coding === 'none' ? [] : ['content-encoding: gzip']),
    framing === 'length' ? `content-length: ${content.length}` : 'transfer-encoding: chunked',
    ...(expects ? ['expect: 100-continue'] : []),
    ...(version === '1.0' ? ['connection: keep-alive'] : []),
  ]
  const chunk = Buffer.concat([
    Buffer.from(`${content.length.toString(16)}\r\n`),
    content,
    Buffer.from('\r\n'),
  ])
  const last = Buffer.from(`0\r\n${trailers ? 'x-sum: 1\r\n' : ''}\r\n`)
  const chunked = content.length === 0 ? last : Buffer.concat([chunk, last])
  const whole = framing === 'length' ? content : chunked
  const rest = isCut ? whole.subarray(0, -1) : whole
  return [`POST /${route} HTTP/${version}\r\n${fields.join('\r\n')}\r\n\r\n`, rest]
}

interface Expected {
  /** 0: no status, since the request was never complete. */
  readonly status: number
  /** Undefined: no body arrives as if it were complete. */
  readonly body: string | undefined
}

function expected(script: Script): Expected {
  const { body, coding, isCut, fails } = script
  const content = contentOf(script)
  const isRead = has(script, 'request.body') || has(script, 'extProc')
  const isHeld = has(script, 'buffer: ') && !has(script, 'FailOpen')
  const isBroken = isCut && (script.framing === 'chunked' || content.length > 0)
  const max = has(script, `maxBytes: ${MAX}`) && isHeld ? MAX : Number.POSITIVE_INFINITY
  if (script.framing === 'length' && content.length > MAX && isRead)
    return { status: 413, body: undefined }
  if (isBroken) {
    // The gateway detects a body that is too long before it would have been complete.
    const isLong = content.length > (isRead ? MAX : max) + 1
    return { status: isLong ? 413 : 0, body: undefined }
  }
  if (isRead && content.length > MAX) return { status: 413, body: undefined }
  if (has(script, 'request.body') && coding !== 'none' && content.length > 0) {
    if (coding === 'broken') return { status: 400, body: undefined }
    if (body.length > MAX) return { status: 413, body: undefined }
  }
  if (has(script, 'deny') && body.includes('evil')) return { status: 403, body: undefined }
  let arrives = has(script, 'request.body') || coding === 'none' ? body : content.toString('latin1')
  if (has(script, 'extProc') && body !== '')
    arrives = has(script, 'PORT_OF_full') ? body.replaceAll('a', 'A') : `{${body}}`
  if (!has(script, 'transformations') && has(script, 'request.body') && coding !== 'none')
    arrives = content.toString('latin1')
  // A request that declares no body has no `request.body`, so the expression fails.
  const isThere = script.framing === 'chunked' || content.length > 0
  if (has(script, 'transformations')) arrives = isThere ? `<${arrives}>` : ''
  if (arrives.length > max) return { status: 413, body: undefined }
  return { status: fails && !has(script, 'retry') ? 503 : 200, body: arrives }
}

interface Arrived {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly trailers: NodeJS.Dict<string>
}

describe('request body policies', () => {
  let backend: Server
  let gateway: WholeGateway
  let processors: BodyProcessors
  let port: number
  let ids = 0
  const arrived = new Map<string, Arrived[]>()

  before(async () => {
    backend = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('error', () => {})
      request.on('end', () => {
        if (!request.complete) return
        const { headers, trailers } = request
        const body = Buffer.concat(chunks).toString('latin1')
        const id = String(headers['x-id'] ?? request.url)
        const before = arrived.get(id) ?? []
        arrived.set(id, [...before, { headers, body, trailers }])
        response.statusCode = headers['x-fail'] === '1' && before.length === 0 ? 503 : 200
        response.end(request.url === '/next' ? 'next' : 'ok')
      })
    })
    await new Promise<void>((done) => backend.listen(0, '127.0.0.1', done))
    const host = `127.0.0.1:${(backend.address() as AddressInfo).port}`
    processors = await startBodyProcessors('requestBody')
    port = await free()
    const routes = Object.entries(POLICIES).map(
      ([name, policies]) =>
        `- name: ${name}\n  matches: [{ path: { exact: /${name} } }]\n  policies: { ${processors.withPorts(policies)} }\n` +
        `  backends: [{ host: ${host} }]\n`,
    )
    gateway = await startWhole(
      `gateways: { default: { port: ${port} } }\nfrontendPolicies: { http: { maxBufferSize: ${MAX} } }\n` +
        `routes:\n${routes.join('')}- name: next\n  backends: [{ host: ${host} }]\n`,
    )
  })

  after(async () => {
    await gateway.stop()
    processors.close()
    backend.closeAllConnections()
    backend.close()
  })

  /** Sends the request and, if it is complete, another one after it on the same connection. */
  const ask = (script: Script, id: number) =>
    new Promise<string>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' })
      let text = ''
      const [head, rest] = written(script, id)
      const send = async () => {
        for (let at = 0; at < rest.length; at += script.piece) {
          if (at > 20 * script.piece) {
            socket.write(rest.subarray(at))
            break
          }
          socket.write(rest.subarray(at, at + script.piece))
          await turn()
        }
        if (script.isCut) socket.end()
        else socket.write('GET /next HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
      }
      let isSent = false
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1')
        if (isSent || !text.startsWith('HTTP/1.1 100 ')) return
        isSent = true
        void send()
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(text))
      socket.write(head)
      if (!script.expects) {
        isSent = true
        void send()
      } else if (contentOf(script).length === 0 && script.framing === 'length') {
        isSent = true
        void send()
      }
      setTimeout(() => socket.destroy(), 3_000).unref()
    })

  /** The same over HTTP/2, with the response as HTTP/1.1; a truncated request loses its connection. */
  const askHttp2 = (script: Script, id: number) =>
    new Promise<string>((resolve) => {
      const { route, framing, coding, isCut, trailers, expects, fails } = script
      const content = contentOf(script)
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => {})
      const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => socket })
      session.on('error', () => {})
      const stream = session.request(
        {
          ':method': 'POST',
          ':path': `/${route}`,
          'x-id': String(id),
          digest: 'sha-256=of-what-came',
          ...(fails ? { 'x-fail': '1' } : {}),
          ...(coding === 'none' ? {} : { 'content-encoding': 'gzip' }),
          ...(framing === 'length' ? { 'content-length': content.length } : {}),
          ...(expects ? { expect: '100-continue' } : {}),
        },
        { waitForTrailers: trailers && framing === 'chunked', endStream: false },
      )
      let text = ''
      stream.on('response', ({ ':status': status }) => {
        text = `HTTP/1.1 ${status} X\r\nconnection: close\r\n\r\n`
      })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }))
      stream.on('error', () => {})
      stream.on('close', () => {
        session.destroy()
        resolve(text)
      })
      stream.resume()
      const send = async () => {
        const rest = isCut ? content.subarray(0, -1) : content
        for (let at = 0; at < rest.length; at += script.piece) {
          const isLong = at > 20 * script.piece
          stream.write(rest.subarray(at, isLong ? undefined : at + script.piece))
          if (isLong) break
          await turn()
        }
        // Closing the stream would end it first if it is still writable.
        if (isCut) setTimeout(() => socket.destroy(), 2)
        else stream.end()
      }
      if (expects) stream.on('continue', () => void send())
      else void send()
      setTimeout(() => stream.close(8), 3_000).unref()
    })

  it('forward the expected body, complete or not at all', async () => {
    await assertProperty(
      'way-there-policies',
      fc.asyncProperty(scripts, async (script) => {
        const id = ++ids
        const asking = script.version === '2' ? askHttp2(script, id) : ask(script, id)
        const text = (await asking).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
        const { status, body } = expected(script)
        const first = Number(/^HTTP\/1\.1 (\d+) /.exec(text)?.[1] ?? 0)
        if (script.isCut && body === undefined && status === 0) {
          await wait(2)
          assert.ok(first === 0 || first >= 400, `responds with ${first}`)
          assert.equal(arrived.get(String(id)), undefined, 'it arrived as if it were whole')
          return
        }
        // Whole by its length, although the stream was not ended: it may arrive before it is cut.
        if (script.isCut && script.version === '2') return
        assert.equal(first, status, text)
        const all = arrived.get(String(id)) ?? []
        arrived.delete(String(id))
        if (body === undefined) {
          assert.deepEqual(all, [])
          return
        }
        assert.equal(all.length, script.fails && has(script, 'retry') ? 2 : 1)
        for (const { body: own, headers, trailers } of all) {
          assert.equal(own, body)
          const isReplaced = has(script, 'transformations')
          assert.equal(headers['digest'], isReplaced ? undefined : 'sha-256=of-what-came')
          const isCoded = script.coding !== 'none' && !isReplaced
          assert.equal(headers['content-encoding'], isCoded ? 'gzip' : undefined)
          assert.ok(headers['content-length'] === undefined || !headers['transfer-encoding'])
          for (const name of Object.keys(trailers)) assert.equal(name, 'x-sum')
        }
        const isKept = !/^connection: close\r?$/im.test(text.slice(0, text.indexOf('\r\n\r\n')))
        if (isKept && !script.isCut) assert.match(text, /\r\n\r\nnext$/)
      }),
      fuzz(1, 200),
    )
  })
})
