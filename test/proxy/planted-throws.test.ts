import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { openMetrics } from '../../src/cli/fleet.ts'
import { CALL_OUTS, type CallOutName } from '../../src/proxy/call-outs.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { steady } from '../steady-settings.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'
import { type AuthorizationService, startAuthorizationService } from './authorization-service.ts'
import { exchange, listen } from './harness.ts'
import { arm, disarm, hasThrown, plantEverywhere, plantInProgram, unplant } from './planted.ts'
import { type LogLine, modelOf, settingsOf, until } from './whole-gateway.ts'

type Seen = number | 'closed'

interface Plant {
  readonly callOut: CallOutName
  /** The place that throws: see ./planted.ts. */
  readonly place: string
  readonly path?: string
  /** The kind of request; by default GET over both versions of HTTP. */
  readonly by?: 'http' | 'post' | 'http1' | 'https' | 'tcp' | 'bytes' | 'malformed'
  readonly seen: Seen
  /** What the log line names in addition to the gateway. */
  readonly named?: Readonly<Record<string, string>>
}

const ROUTE = { gateway: 'plain', route: 'all' }

/** Policies of a route in the order in which they run, with a place in each linked position. */
const KINDS = [
  'responseHeaders',
  'cors',
  'basicAuth',
  'extAuthz',
  'authorization',
  'localRateLimit',
  'requestHeaders',
  'urlRewrite',
] as const

const PLANTS: readonly Plant[] = [
  { callOut: 'request', place: 'finding the listener', seen: 500 },
  { callOut: 'request', place: 'finding the route', seen: 500, named: { gateway: 'plain' } },
  ...KINDS.map((kind): Plant => {
    const named = { ...ROUTE, kind, policy: 'route:all' }
    return { callOut: 'policy', place: `${kind} at traffic of route`, seen: 500, named }
  }),
  {
    callOut: 'policy',
    place: 'responseHeaders at traffic of gateway',
    path: '/bare',
    seen: 500,
    named: { kind: 'responseHeaders', policy: 'gateway:plain' },
  },
  {
    callOut: 'policy',
    place: 'extAuthz, later',
    seen: 500,
    named: { ...ROUTE, kind: 'extAuthz' },
  },
  { callOut: 'rule', place: 'a rule', seen: 403, named: { rule: 'authorization[0]' } },
  { callOut: 'rule', place: 'a rule', path: '/require', seen: 403 },
  { callOut: 'rule', place: 'a rule', path: '/allow', seen: 403 },
  { callOut: 'rule', place: 'a rule', path: '/others', seen: 200 },
  { callOut: 'rule', place: 'a rule', path: '/audit', seen: 200 },
  { callOut: 'rule', place: 'the rule index', seen: 403 },
  { callOut: 'rule', place: 'the rule index', path: '/require', seen: 403 },
  { callOut: 'rule', place: 'the index of Allow rules', path: '/others', seen: 403 },
  { callOut: 'rule', place: 'a rule', path: '/backend', seen: 403 },
  { callOut: 'backend', place: 'choosing a backend', seen: 500, named: ROUTE },
  {
    callOut: 'backend',
    place: 'requestHeaders at backend of backend',
    path: '/backend',
    seen: 500,
    named: { route: 'backend', kind: 'requestHeaders' },
  },
  { callOut: 'provider', place: 'choosing a provider', path: '/ai', seen: 500 },
  {
    callOut: 'provider',
    place: 'requestHeaders at backend of provider',
    path: '/ai',
    seen: 500,
    named: { route: 'ai', kind: 'requestHeaders' },
  },
  { callOut: 'delivery', place: 'delivery', seen: 500, named: ROUTE },
  { callOut: 'delivery', place: 'an attempt', seen: 500, named: ROUTE },
  { callOut: 'policy', place: 'choosing an endpoint', seen: 500, named: { kind: 'extAuthz' } },
  { callOut: 'delivery', place: 'choosing an endpoint', path: '/bare', seen: 500 },
  { callOut: 'delivery', place: 'the span of an attempt', seen: 500, named: ROUTE },
  { callOut: 'response', place: 'reading a response head', seen: 500, named: ROUTE },
  { callOut: 'response', place: 'finishing a delivery', seen: 200, named: ROUTE },
  { callOut: 'response', place: 'the end of an attempt', seen: 200, named: ROUTE },
  ...(['opened', 'a piece', 'the end'] as const).map((place): Plant => {
    const named = { gateway: 'plain', route: 'smaller' }
    return {
      callOut: 'response',
      place: `compression, response, ${place}`,
      path: '/smaller',
      seen: 500,
      named,
    }
  }),
  {
    callOut: 'response',
    place: 'transformations on the response',
    path: '/marked',
    seen: 500,
    named: { route: 'marked', kind: 'transformations' },
  },
  { callOut: 'response', place: 'transformations, response, whole', path: '/changed', seen: 500 },
  {
    callOut: 'body',
    place: 'transformations, request, whole',
    path: '/changed',
    by: 'post',
    seen: 500,
  },
  { callOut: 'mirror', place: 'choosing an endpoint of a mirror', path: '/mirror', seen: 200 },
  { callOut: 'body', place: 'a body that was read', path: '/body', by: 'post', seen: 500 },
  { callOut: 'reply', place: 'rendering a reply', path: '/direct', seen: 500 },
  { callOut: 'decision-record', place: 'recording a decision', path: '/denied', seen: 500 },
  { callOut: 'telemetry', place: 'the beginning of a request', seen: 500 },
  { callOut: 'telemetry', place: 'the end of a request', seen: 200, named: ROUTE },
  { callOut: 'telemetry', place: 'the end of a trace', seen: 200, named: ROUTE },
  { callOut: 'telemetry', place: 'the filter of the access log', seen: 200, named: ROUTE },
  { callOut: 'telemetry', place: 'labels of metrics', seen: 200, named: ROUTE },
  { callOut: 'telemetry', place: 'counting bytes that are no request', by: 'malformed', seen: 400 },
  { callOut: 'telemetry', place: 'the end of a stream', by: 'tcp', seen: 200 },
  { callOut: 'timer', place: 'stopping a delivery', path: '/slow', seen: 500 },
  { callOut: 'accept', place: 'counting connections', by: 'http1', seen: 'closed' },
  { callOut: 'accept', place: 'counting connections of an address', by: 'http1', seen: 'closed' },
  { callOut: 'accept', place: 'network authorization of plain', by: 'http1', seen: 'closed' },
  { callOut: 'accept', place: 'network authorization of raw', by: 'tcp', seen: 'closed' },
  { callOut: 'rule', place: 'the index of network rules', by: 'tcp', seen: 'closed' },
  { callOut: 'stream', place: 'choosing where a stream goes', by: 'tcp', seen: 'closed' },
  { callOut: 'connection', place: 'reading bytes of HTTP/1.1', by: 'http1', seen: 'closed' },
  { callOut: 'connection', place: 'counting a connection', by: 'http1', seen: 'closed' },
  { callOut: 'client-hello', place: 'reading a ClientHello', by: 'https', seen: 'closed' },
  { callOut: 'client-hello', place: 'network authorization of named', by: 'bytes', seen: 'closed' },
  { callOut: 'handshake', place: 'the SNI callback', by: 'https', seen: 'closed' },
  { callOut: 'handshake', place: 'counting a handshake', by: 'https', seen: 'closed' },
  { callOut: 'handshake', place: 'network authorization of secure', by: 'https', seen: 'closed' },
]

/** Other tests cover these. */
const ELSEWHERE: readonly CallOutName[] = ['swap', 'admin', 'process']

describe('a throw affects only one request', { skip: WITHOUT_OPENSSL }, () => {
  const lines: LogLine[] = []
  let gateway: Gateway
  let backend: Server
  let service: AuthorizationService
  let ports: Readonly<Record<'plain' | 'secure' | 'raw' | 'named', number>>
  let text: string

  before(async () => {
    plantEverywhere()
    backend = createServer((request, response) => {
      if (request.url === '/slow') return
      request.resume()
      response.setHeader('content-type', 'text/plain')
      response.end('served')
    })
    service = await startAuthorizationService()
    service.respondWith = () => ({})
    const own = await listen(backend)
    const [plain, secure, raw, named] = await Promise.all([free(), free(), free(), free()])
    ports = { plain, secure, raw, named }
    const pair = makeAuthority('clients')
    const issued = ['a.test', 'b.test'].map((name) => pair.issue({ names: [`DNS:${name}`] }))
    const inline = (pem: string) => `{ inline: ${JSON.stringify(pem)} }`
    // Two certificates: with one, there is nothing to choose by the server name.
    const all = issued.map(({ cert, key }) => `{ cert: ${inline(cert)}, key: ${inline(key)} }`)
    const tls = `certificates: [${all.join(', ')}]`
    const to = `backends: [{ host: 127.0.0.1:${own} }]`
    const thrower = `request.headers['x-thrower'] == 'a'`
    const http = '[plain, secure]'
    const at = (path: string) => `gateways: ${http}, matches: [{ path: { exact: ${path} } }]`
    text = `config:
  metrics: { fields: { add: { tenant: "request.headers['x-tenant']" } } }
frontendPolicies:
  networkAuthorization: { rules: [{ deny: "source.port == 1 || destination.hostname == 'nobody.test' || source.identity == 'nobody'" }] }
  accessLog: { filter: "source.port != 1" }
  tracing: { host: 127.0.0.1:${own}, randomSampling: "1.0" }
gateways:
  plain:
    port: ${plain}
    policies: { responseHeaders: { set: { x-by: gateway } } }
  secure:
    port: ${secure}
    tls: { ${tls}, root: ${inline(pair.cert)}, clientCertificates: Optional }
  raw:
    port: ${raw}
    protocol: TCP
  named:
    port: ${named}
    protocol: TLS
tcpRoutes:
- { name: raw, gateways: [raw], ${to} }
- { name: named, gateways: [named], ${to} }
backends:
- name: models
  ai:
    groups:
    - providers:
      - { name: main, provider: { openAI: {} }, hostOverride: "127.0.0.1:${own}", policies: { requestHeaders: { set: { x-p: a } } } }
routes:
- name: all
  gateways: ${http}
  policies:
    responseHeaders: { set: { x-by: route } }
    cors: { allowOrigins: ['*'] }
    basicAuth: { mode: Optional, htpasswd: "a:{SHA}qvTGHdzF6KLavt4PO0gs2a6pQ00=" }
    extAuthz: { host: "127.0.0.1:${service.port}" }
    authorization: { rules: [{ deny: "${thrower}" }] }
    localRateLimit: { requests: 100000, unit: Seconds }
    requestHeaders: { set: { x-set: a } }
    urlRewrite: { path: { prefix: / } }
  ${to}
- { name: bare, ${at('/bare')}, ${to} }
- { name: require, ${at('/require')}, policies: { authorization: { rules: [{ require: "!(${thrower})" }] } }, ${to} }
- { name: allow, ${at('/allow')}, policies: { authorization: { rules: [{ allow: "!(${thrower})" }] } }, ${to} }
- { name: others, ${at('/others')}, policies: { authorization: { rules: [{ allow: "!(${thrower}) && request.path == '/x'" }, { allow: "request.method == 'GET' || ${thrower}" }] } }, ${to} }
- { name: audit, ${at('/audit')}, policies: { authorization: { mode: Audit, rules: [{ deny: "${thrower}" }] } }, ${to} }
- { name: backend, ${at('/backend')}, backends: [{ host: "127.0.0.1:${own}", policies: { requestHeaders: { set: { x-set: a } }, authorization: { rules: [{ deny: "${thrower}" }] } } }] }
- { name: ai, ${at('/ai')}, backends: [{ backend: models }] }
- { name: mirror, ${at('/mirror')}, policies: { requestMirror: { backend: { host: "127.0.0.1:${own}" } } }, ${to} }
- { name: body, ${at('/body')}, policies: { authorization: { rules: [{ deny: "size(request.body) == 99" }] } }, ${to} }
- { name: direct, ${at('/direct')}, policies: { directResponse: { status: 200, body: direct } } }
- { name: changed, ${at('/changed')}, policies: { transformations: { request: { body: "'a'" }, response: { set: { x-set: "'a'" }, body: "'b'" } } }, ${to} }
- { name: marked, ${at('/marked')}, policies: { transformations: { response: { set: { x-set: "'a'" } } } }, ${to} }
- { name: smaller, ${at('/smaller')}, policies: { compression: { minBytes: 1, contentTypes: ['text/plain'] } }, ${to} }
- { name: denied, ${at('/denied')}, policies: { authorization: { rules: [{ deny: "true" }] } }, ${to} }
- { name: slow, ${at('/slow')}, policies: { timeout: { requestTimeout: 200ms } }, ${to} }
`
    const settings = settingsOf(text)
    const write = (line: string) => void lines.push(JSON.parse(line))
    const log = createLogger({ format: 'json', level: 'info', write })
    const metrics = openMetrics(settings)
    gateway = new Gateway({ settings: steady(settings), log, metrics, reusePort: false })
    await apply()
  })

  after(async () => {
    await gateway.drain()
    unplant()
    service.close()
    backend.close()
    backend.closeAllConnections()
  })

  const apply = async () => {
    const { isApplied, diagnostics } = await gateway.apply(modelOf(text))
    assert.ok(isApplied, JSON.stringify(diagnostics))
    plantInProgram(gateway.program ?? assert.fail())
  }

  const reported = () => lines.filter(({ scope }) => scope === 'internal')

  const versions = ({ by = 'http' }: Plant) =>
    by === 'http' || by === 'post' ? (['HTTP/1.1', 'HTTP/2'] as const) : (['HTTP/1.1'] as const)

  for (const plant of PLANTS) {
    for (const version of versions(plant)) {
      const { callOut, place, path = '/', by = 'http', seen, named = {} } = plant
      it(`${place}, ${by} ${version} ${path}: ${seen}`, async () => {
        lines.length = 0
        arm(place)
        assert.equal(await ask(plant, version), seen)
        await until('the throw', hasThrown)
        disarm()
        await until('the record', () => reported().length > 0)
        const then = { ...plant, path: '/', by: by === 'post' || by === 'malformed' ? 'http' : by }
        assert.equal(await ask(then as Plant, version), 200, 'the next one is served')
        const [record, ...others] = reported()
        assert.deepEqual(others, [], 'it is told once')
        assert.ok(record !== undefined)
        const { 'call-out': name, error, at } = record
        assert.equal(name, callOut)
        assert.match(String(error), /planted/)
        assert.match(String(at), /^test\/proxy\/planted\.ts:\d+:\d+$/)
        for (const [field, value] of Object.entries(named)) assert.equal(record[field], value)
      })
    }
  }

  it('while a configuration is applied does not affect a later configuration', async () => {
    lines.length = 0
    for (let i = 0; i < 2; i++) {
      arm('planning ports')
      const { isApplied, diagnostics } = await gateway.apply(modelOf(text))
      disarm()
      assert.equal(isApplied, false)
      assert.deepEqual(
        diagnostics.map(({ code }) => code),
        ['PC0404'],
      )
      assert.equal(await ask(PLANTS[0] as Plant, 'HTTP/1.1'), 200, 'what was there goes on')
    }
    assert.deepEqual(
      reported().map((record) => record['call-out']),
      ['swap', 'swap'],
    )
    await apply()
    assert.equal(await ask(PLANTS[0] as Plant, 'HTTP/1.1'), 200)
  })

  it('is planted at every call-out', () => {
    const planted = new Set([...PLANTS.map(({ callOut }) => callOut), ...ELSEWHERE])
    assert.deepEqual(
      CALL_OUTS.map(({ name }) => name).filter((name) => !planted.has(name)),
      [],
    )
  })

  function ask({ by = 'http', path = '/' }: Plant, version: string): Promise<Seen> {
    const isPost = by === 'post'
    if (by === 'malformed') return askHttp1(ports.plain, 'GET / HTTP/1.1\r\nbad header\r\n\r\n')
    if (by === 'https') return askTls()
    if (by === 'bytes') return askBytes()
    if (by === 'tcp')
      return askHttp1(ports.raw, 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    if (version === 'HTTP/2') return askHttp2(path, isPost)
    const head = `${isPost ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nhost: a\r\naccept-encoding: gzip\r\nconnection: close\r\n`
    return askHttp1(ports.plain, isPost ? `${head}content-length: 4\r\n\r\nbody` : `${head}\r\n`)
  }

  async function askHttp1(port: number, bytes: string): Promise<Seen> {
    return statusOf(await exchange(port, bytes))
  }

  function statusOf(response: string): Seen {
    return response === '' ? 'closed' : Number(response.slice('HTTP/1.1 '.length).slice(0, 3))
  }

  function askHttp2(path: string, isPost: boolean): Promise<Seen> {
    const session = connectHttp2(`http://127.0.0.1:${ports.plain}`)
    return new Promise<Seen>((resolve) => {
      session.on('error', () => resolve('closed'))
      const stream = session.request({
        ':path': path,
        ':method': isPost ? 'POST' : 'GET',
        'accept-encoding': 'gzip',
      })
      let status: Seen = 'closed'
      stream.on('response', (headers) => {
        status = Number(headers[':status'])
      })
      stream.on('error', () => {})
      stream.on('close', () => resolve(status))
      stream.resume()
      stream.end(isPost ? 'body' : undefined)
    }).finally(() => session.destroy())
  }

  function askTls(): Promise<Seen> {
    const options = { port: ports.secure, host: '127.0.0.1', servername: 'a.test' }
    const socket = connectTls({
      ...options,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    })
    return responseOf(socket, 'GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n')
  }

  /**
   * Sends a ClientHello to a listener that passes TLS through, to an HTTP server that closes the
   * connection.
   */
  async function askBytes(): Promise<Seen> {
    const before = lines.length
    const options = { port: ports.named, host: '127.0.0.1', servername: 'a.test' }
    const socket = connectTls({ ...options, rejectUnauthorized: false })
    socket.on('error', () => {})
    await new Promise((resolve) => socket.on('close', resolve))
    await until('a line', () => lines.length > before)
    const isStream = lines.slice(before).some(({ protocol, backend }) => protocol && backend)
    return isStream ? 200 : 'closed'
  }

  function responseOf(socket: Socket, bytes: string): Promise<Seen> {
    let response = ''
    socket.on('error', () => {})
    socket.on('data', (data) => {
      response += data.toString('latin1')
    })
    socket.write(bytes)
    return new Promise((resolve) => socket.on('close', () => resolve(statusOf(response))))
  }
})
