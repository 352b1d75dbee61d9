// Every kind of part that can be broken, and what clients then observe.

import assert from 'node:assert/strict'
import { connect as connectRaw } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Model } from '../../src/model/model.ts'
import { sealSecret } from '../../src/policies/schema.ts'

/** What a client observes at a place: the status of a response, or a closed connection. */
export type Found = number | 'closed'

export interface Ports {
  readonly plain: number
  readonly tls: number
  readonly tcp: number
  readonly spare: number
  readonly backend: number
}

const rules = (expression: string) => `{ authorization: { rules: [{ allow: "${expression}" }] } }`
export const OPEN = rules("request.method == 'GET'")

/** The whole configuration in order; `parts` replace single lines. */
export function configuration(ports: Ports, parts: Parts = {}): string {
  const { guarded = `policies: ${OPEN}`, backend = 'backend: up', more = '', tls = '' } = parts
  const { routes = '', spare = '' } = parts
  const { gateway = '', listener = '', connections = '{}', stream = 'backend: up' } = parts
  return `
config: { adminAddr: off, statsAddr: off, readinessAddr: off }
gateways:
  default: { port: ${ports.plain}${gateway} }
  secure:
    port: ${ports.tls}
    listeners:
    - { name: a, protocol: HTTPS, hostname: a.test, tls: { cert: a.pem, key: ${tls || 'a.key'} }${listener} }
    - { name: b, protocol: HTTPS, hostname: b.test, tls: { cert: b.pem, key: b.key } }
  stream: { port: ${ports.tcp}, protocol: TCP, frontendPolicies: ${connections} }
  spare: { port: ${ports.spare}, ${spare} }
backends:
- { name: up, host: "127.0.0.1:${ports.backend}" }
routes:
- name: guarded
  gateways: [default, secure]
  matches: [{ path: { exact: /guarded } }]
  ${guarded}
  backends: [{ ${backend} }]
- { name: other, gateways: [default, secure, spare], backends: [{ backend: up }] }
${routes}
tcpRoutes:
- { name: stream, gateways: stream, backends: [{ ${stream} }] }
${more}`
}

export interface Parts {
  readonly guarded?: string
  readonly routes?: string
  readonly spare?: string
  readonly backend?: string
  readonly more?: string
  readonly tls?: string
  readonly gateway?: string
  readonly listener?: string
  readonly connections?: string
  readonly stream?: string
}

/** The places that clients try. */
export const PLACES = {
  '/guarded': ({ plain }: Ports) => http(plain, '/guarded'),
  '/other': ({ plain }: Ports) => http(plain, '/other'),
  '/second': ({ plain }: Ports) => http(plain, '/second'),
  'a.test': ({ tls }: Ports) => https(tls, 'a.test', '/other'),
  'a.test/guarded': ({ tls }: Ports) => https(tls, 'a.test', '/guarded'),
  'b.test': ({ tls }: Ports) => https(tls, 'b.test', '/other'),
  'b.test/guarded': ({ tls }: Ports) => https(tls, 'b.test', '/guarded'),
  tcp: ({ tcp }: Ports) => raw(tcp),
  spare: ({ spare }: Ports) => http(spare, '/'),
  'spare x.test': ({ spare }: Ports) => raw(spare, 'x.test'),
} as const satisfies Record<string, (ports: Ports) => Promise<Found>>

export type Place = keyof typeof PLACES

/** A broken part, and what clients then observe; places that are not listed serve as usual. */
export interface BrokenPart {
  readonly what: string
  readonly parts?: Parts
  /** A change of a valid Model, as a source other than a file may deliver it. */
  readonly change?: (model: Model, ports: Ports) => unknown
  readonly found: Partial<Record<Place, Found>>
  readonly code: string
}

export const GONE = { spare: 'closed', 'spare x.test': 'closed' } as const
const GUARDED = { '/guarded': 500, 'a.test/guarded': 500, 'b.test/guarded': 500 } as const

export const BROKEN_PARTS: readonly BrokenPart[] = [
  {
    what: 'an expression that does not parse',
    parts: { guarded: `policies: ${rules('jwt.sub ==')}` },
    found: GUARDED,
    code: 'PC0101',
  },
  {
    what: 'a Deny rule that does not compile',
    parts: { guarded: 'policies: { authorization: { rules: [{ deny: request.nothing }] } }' },
    found: GUARDED,
    code: 'PC0111',
  },
  {
    what: 'a policy of an unknown kind',
    parts: { guarded: 'policies: { authorisation: {} }' },
    found: GUARDED,
    code: 'PC0210',
  },
  {
    what: 'a policy with an unknown key',
    parts: { guarded: 'policies: { authorization: { rule: [] } }' },
    found: GUARDED,
    code: 'PC0210',
  },
  {
    what: 'a key that cannot be read',
    parts: { tls: 'gone.key' },
    found: { 'a.test': 'closed', 'a.test/guarded': 'closed' },
    code: 'PC0310',
  },
  {
    what: 'a key of another certificate',
    parts: { tls: 'b.key' },
    found: { 'a.test': 'closed', 'a.test/guarded': 'closed' },
    code: 'PC0402',
  },
  {
    what: 'a key that is none',
    parts: { tls: 'none.key' },
    found: { 'a.test': 'closed', 'a.test/guarded': 'closed' },
    code: 'PC0402',
  },
  {
    what: 'a file of users that cannot be read',
    parts: { guarded: 'policies: { basicAuth: { htpasswd: { file: gone } } }' },
    found: GUARDED,
    code: 'PC0310',
  },
  {
    what: 'a backend that is not there',
    parts: { backend: 'backend: down' },
    found: GUARDED,
    code: 'PC0302',
  },
  {
    what: 'a backend in place that is none',
    parts: { backend: 'host: "a b"' },
    found: GUARDED,
    code: 'PC0215',
  },
  {
    what: 'a TCP route to a backend that is not there',
    parts: { stream: 'backend: down' },
    found: { tcp: 'closed' },
    code: 'PC0302',
  },
  {
    what: 'a rule about connections that does not compile',
    parts: { connections: '{ networkAuthorization: { rules: [{ deny: source.nothing }] } }' },
    found: { tcp: 'closed' },
    code: 'PC0111',
  },
  {
    what: 'a second route of the same name',
    parts: {
      routes:
        '- { name: other, matches: [{ path: { exact: /second } }], backends: [{ backend: up }] }',
    },
    found: { '/second': 500 },
    code: 'PC0303',
  },
  {
    what: 'a listener for one host with TLS on a port without',
    parts: { spare: 'listeners: [{ name: any }, { hostname: x.test, tls: {} }]' },
    found: { 'spare x.test': 404 },
    code: 'PC0308',
  },
  {
    what: 'a listener for one host with a key that nobody knows',
    parts: { spare: 'listeners: [{ name: any }, { hostname: x.test, polices: {} }]' },
    found: { 'spare x.test': 404 },
    code: 'PC0210',
  },
  {
    what: 'two listeners of the same name',
    parts: {
      listener:
        ' }\n    - { name: a, protocol: HTTPS, hostname: c.test, tls: { cert: b.pem, key: b.key }',
    },
    found: {},
    code: 'PC0303',
  },
  {
    what: 'a port of another gateway',
    parts: { gateway: ' }\n  second: { port: PLAIN' },
    found: {},
    code: 'PC0304',
  },
  {
    what: 'a second policy of the same name',
    parts: {
      more: `policies:
- { name: p, target: { route: other }, traffic: ${OPEN} }
- { name: p, target: { route: guarded }, traffic: ${OPEN} }`,
    },
    found: GUARDED,
    code: 'PC0303',
  },
  {
    what: 'a policy with a key that nobody knows, for one route',
    parts: { more: `policies: [{ name: p, target: { route: guarded }, trafic: ${OPEN} }]` },
    found: GUARDED,
    code: 'PC0210',
  },
  {
    what: 'the same policy twice at a gateway',
    parts: {
      gateway: `, cors: { allowOrigins: [https://x] }, policies: { cors: { allowOrigins: [https://y] } }`,
    },
    found: { '/guarded': 500, '/other': 500, '/second': 500 },
    code: 'PC0216',
  },
  {
    what: 'of another source: an expression that does not compile',
    change: (model) => {
      const [policy] = model.routes[0]?.policies ?? []
      const { value } = policy as unknown as { value: { rules: { expression: string }[] } }
      Object.assign(value.rules[0] ?? assert.fail(), { expression: 'jwt.sub ==' })
    },
    found: GUARDED,
    code: 'PC0101',
  },
  {
    what: 'of another source: a kind that nobody enforces',
    change: (model) => Object.assign(model.routes[0]?.policies[0] ?? {}, { kind: 'novelty' }),
    found: GUARDED,
    code: 'PC0219',
  },
  {
    what: 'of another source: a backend that is not there',
    change: (model) => {
      const backends = [{ backend: 'down', weight: 1, policies: [] }]
      Object.assign(model.routes[0]?.rules[0] ?? {}, { action: { kind: 'forward', backends } })
    },
    found: GUARDED,
    code: '',
  },
  {
    what: 'of another source: a certificate that is none',
    change: (model) => {
      const [listener] = model.gateways[1]?.listeners ?? []
      const { tls } = listener as unknown as { tls: { certificates: { cert: object }[] } }
      Object.assign(tls.certificates[0]?.cert ?? assert.fail(), { text: 'none' })
    },
    found: { 'a.test': 'closed', 'a.test/guarded': 'closed' },
    code: 'PC0402',
  },
  {
    what: 'of another source: keys towards a backend that do not fit',
    parts: {
      guarded: `policies: { backendTLS: { cert: a.pem, key: a.key } }`,
    },
    change: (model) => {
      const [policy] = model.routes[0]?.policies ?? []
      const { value } = policy as unknown as { value: { key: object } }
      value.key = sealSecret('none')
    },
    found: { '/guarded': 500, 'a.test/guarded': 500, 'b.test/guarded': 500 },
    code: 'PC0402',
  },
]

async function http(port: number, path: string): Promise<Found> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { connection: 'close' },
    })
    await response.text()
    return response.status
  } catch {
    return 'closed'
  }
}

function https(port: number, name: string, path: string): Promise<Found> {
  const options = { port, host: '127.0.0.1', servername: name, rejectUnauthorized: false }
  const socket = connectTls({ ...options, ALPNProtocols: ['http/1.1'] })
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${name}\r\nconnection: close\r\n\r\n`)
  return statusOf(socket)
}

function raw(port: number, host = 'x'): Promise<Found> {
  const socket = connectRaw({ port, host: '127.0.0.1' })
  socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  return statusOf(socket)
}

function statusOf(socket: ReturnType<typeof connectRaw>): Promise<Found> {
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  socket.on('error', () => {})
  return new Promise((resolve) => {
    socket.on('close', () => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1]
      resolve(status === undefined ? 'closed' : Number(status))
    })
  })
}
