import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { FORWARDED_NAMES } from '../../src/exchange/forwarded-headers.ts'
import { free } from './accepting.ts'
import { exchange } from './harness.ts'
import { type Peer, startPeer } from './http2-peers.ts'
import { startWhole, type WholeGateway } from './whole-gateway.ts'

/** All of them as a client would forge them, in both spellings. */
const FORGED = FORWARDED_NAMES.flatMap((name) => [
  `${name}: 6.6.6.6`,
  `${name.replaceAll('-', '_')}: 6.6.6.6`,
])

const kindsOf = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => /forwarded|^x[-_]real[-_]ip/.test(name)),
  )

/** Each kind of backend that gets requests of clients, or headers made from them. */
const KINDS = ['h1', 'h2', 'mirror', 'authz', 'mcp', 'model'] as const
type Kind = (typeof KINDS)[number]

const MCP_CALL = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
const MODEL_CALL = '{"model":"m","messages":[]}'

describe('what backends are told about clients', () => {
  const seen = new Map<Kind, IncomingHttpHeaders>()
  const peers = new Map<Kind, Peer>()
  const gateways: WholeGateway[] = []

  before(async () => {
    for (const kind of KINDS) {
      const peer = await startPeer(kind === 'h2' ? 'h2' : 'h1', (request, response) => {
        seen.set(kind, request.headers as IncomingHttpHeaders)
        request.resume()
        response.setHeader('content-type', 'application/json')
        response.end(kind === 'mcp' ? '{"jsonrpc":"2.0","id":1,"result":{}}' : '{}')
      })
      peers.set(kind, peer)
    }
  })

  after(async () => {
    for (const gateway of gateways) await gateway.stop()
    for (const peer of peers.values()) peer.close()
  })

  async function start(http: string, policy = ''): Promise<number> {
    const port = await free()
    const to = (kind: Kind) => `127.0.0.1:${peers.get(kind)?.port}`
    gateways.push(
      await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { ${http} } }
routes:
- name: h2
  matches: [{ path: { exact: /h2 } }]
  policies: { ${policy} }
  backends: [{ host: '${to('h2')}', policies: { http: { version: HTTP2 } } }]
- name: authz
  matches: [{ path: { exact: /authz } }]
  policies: { extAuthz: { host: '${to('authz')}', protocol: { http: {} }, includeRequestHeaders: [x-forwarded-for, x-forwarded-proto, x-forwarded-host, x-real-ip, forwarded] } }
  backends: [{ host: '${to('h1')}' }]
- name: mcp
  matches: [{ path: { exact: /mcp } }]
  backends: [{ mcp: { targets: [{ name: one, mcp: { host: 'http://${to('mcp')}/' } }] } }]
- name: model
  matches: [{ path: { pathPrefix: /v1 } }]
  backends: [{ ai: { name: one, provider: { openAI: {} }, hostOverride: '${to('model')}' } }]
- name: h1
  policies: { requestMirror: { backend: { host: '${to('mirror')}' } }${policy === '' ? '' : `, ${policy}`} }
  backends: [{ host: '${to('h1')}' }]
`),
    )
    return port
  }

  async function told(port: number, kind: Kind, lines: readonly string[]) {
    seen.delete(kind)
    const body = kind === 'mcp' ? MCP_CALL : kind === 'model' ? MODEL_CALL : ''
    const path = { h1: '/', mirror: '/', mcp: '/mcp', model: '/v1/chat/completions' }
    const head = [
      `${body === '' ? 'GET' : 'POST'} ${(path as Partial<Record<Kind, string>>)[kind] ?? `/${kind}`} HTTP/1.1`,
      'host: localhost:8443',
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      'mcp-protocol-version: 2025-06-18',
      ...(body === '' ? [] : [`content-length: ${body.length}`]),
      ...lines,
    ]
    const text = await exchange(port, `${head.join('\r\n')}\r\n\r\n${body}`, /\r\n\r\n/)
    for (let i = 0; i < 100 && !seen.has(kind); i++)
      await new Promise((done) => setTimeout(done, 5))
    return kindsOf(seen.get(kind) ?? assert.fail(`${kind}: ${text}`))
  }

  const OURS = {
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'localhost:8443',
  }

  describe('by default', () => {
    let port = 0
    before(async () => {
      port = await start('headersWithUnderscores: Allow')
    })
    for (const kind of KINDS)
      it(`${kind}: nothing that a client forged${kind === 'model' ? ', and no address' : ''}`, async () => {
        const expected = kind === 'model' ? {} : OURS
        assert.deepEqual(await told(port, kind, FORGED), expected)
        assert.deepEqual(await told(port, kind, []), expected)
      })
  })

  it('Off: nothing at all', async () => {
    const port = await start('forwarded: Off, headersWithUnderscores: Allow')
    for (const kind of KINDS) assert.deepEqual(await told(port, kind, FORGED), {}, kind)
  })

  it('Preserve: what the client sent', async () => {
    const port = await start('forwarded: Preserve')
    for (const kind of ['h1', 'h2', 'mirror', 'mcp'] as const) {
      const given = await told(port, kind, ['X-Forwarded-For: 6.6.6.6', 'X-Real-IP: 6.6.6.6'])
      assert.deepEqual(given, { 'x-forwarded-for': '6.6.6.6', 'x-real-ip': '6.6.6.6' }, kind)
    }
  })

  describe('behind trusted proxies', () => {
    let port = 0
    before(async () => {
      port = await start('trustedHops: 1')
    })
    const cases: readonly (readonly [string, readonly string[], object])[] = [
      [
        'the list is continued',
        ['X-Forwarded-For: 192.0.2.9'],
        { ...OURS, 'x-forwarded-for': '192.0.2.9, 127.0.0.1' },
      ],
      [
        'without what the client wrote before',
        ['X-Forwarded-For: 6.6.6.6', 'X-Forwarded-For: 192.0.2.9:4711'],
        { ...OURS, 'x-forwarded-for': '192.0.2.9:4711, 127.0.0.1' },
      ],
      [
        'other headers are kept',
        [
          ...['X-Forwarded-For: 192.0.2.9', 'X-Forwarded-Proto: https', 'X-Forwarded-Host: www'],
          ...['X-Forwarded-Port: 443', 'X-Real-IP: 192.0.2.9', 'Forwarded: for=192.0.2.9'],
        ],
        {
          'x-forwarded-for': '192.0.2.9, 127.0.0.1',
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'www',
          'x-forwarded-port': '443',
          'x-real-ip': '192.0.2.9',
          forwarded: 'for=192.0.2.9, for=127.0.0.1;proto=http',
        },
      ],
      ['a client that came past them', ['X-Forwarded-Proto: https', 'X-Real-IP: 6.6.6.6'], OURS],
    ]
    for (const [title, lines, expected] of cases)
      it(title, async () => {
        for (const kind of ['h1', 'h2', 'mirror', 'mcp'] as const)
          assert.deepEqual(await told(port, kind, lines), expected, kind)
      })
  })

  for (const [change, expected] of [
    ['set: { x-forwarded-for: "\'10.0.0.1\'" }', { ...OURS, 'x-forwarded-for': '10.0.0.1' }],
    ['remove: [x-forwarded-host, x-forwarded-proto]', { 'x-forwarded-for': '127.0.0.1' }],
    ['set: { x-real-ip: string(source.address) }', { ...OURS, 'x-real-ip': '127.0.0.1' }],
  ] as const)
    it(`a policy takes precedence: ${change}`, async () => {
      const port = await start('', `transformations: { request: { ${change} } }`)
      for (const kind of ['h1', 'h2', 'mirror'] as const)
        assert.deepEqual(await told(port, kind, FORGED.slice(0, 6)), expected, kind)
    })

  it('each connection and each host has its own', async () => {
    const port = await start('')
    for (const host of ['a', 'b:81', 'a']) {
      seen.delete('h1')
      await exchange(port, `GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`, /\r\n\r\n/)
      assert.equal(seen.get('h1')?.['x-forwarded-host'], host)
    }
  })
})
