// A configuration in which a policy guards every part, and clients that lack what it requires.

import { connect as connectTls } from 'node:tls'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type Fields = Record<string, Json>

export interface Ports {
  readonly plain: number
  readonly layered: number
  readonly tls: number
  readonly tcp: number
}

const rules = (header: string): Fields => ({
  authorization: { rules: [{ require: `request.headers['x-${header}'] == '1'` }] },
})
const at = (path: string): Json => [{ path: { pathPrefix: path } }]
const tlsOf = (name: string): Json => ({ cert: `${name}.pem`, key: `${name}.key` })

/** `host`: the address of the backend. */
export function guardedConfiguration(ports: Ports, host: string): Fields {
  const up: Json = [{ backend: 'up' }]
  const route = (name: string, policies: Fields, backends = up): Json => {
    return { name, matches: at(`/${name}`), policies, backends }
  }
  const provider: Json = {
    name: 'one',
    provider: { openAI: {} },
    hostOverride: host,
    policies: rules('provider'),
  }
  const guard = { regex: { action: 'Reject', rules: [{ pattern: 'secret' }] } }
  const tool = { name: 't', mcp: { host: `http://${host}/mcp` } }
  const deny = { rules: [{ deny: "mcp.tool.name == 'del'" }] }
  return {
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
    gateways: {
      default: { port: ports.plain },
      layered: {
        port: ports.layered,
        policies: rules('gateway'),
        listeners: [
          { name: 'any', policies: rules('any') },
          { name: 'x', hostname: 'x.test', policies: rules('x') },
          { name: 'w', hostname: '*.w.test', policies: rules('w') },
        ],
      },
      secure: {
        port: ports.tls,
        listeners: [
          { name: 'a', hostname: 'a.test', tls: tlsOf('a'), policies: rules('a') },
          { name: 'b', tls: tlsOf('b') },
        ],
      },
      stream: {
        port: ports.tcp,
        protocol: 'TCP',
        frontendPolicies: {
          networkAuthorization: { rules: [{ deny: "source.address == ip('127.0.0.1')" }] },
        },
      },
    },
    backends: [
      { name: 'up', host },
      { name: 'inner', host, policies: rules('backend') },
      {
        name: 'ai',
        ai: { groups: [{ providers: [provider] }] },
        policies: { ...rules('ai'), guardrails: { request: [guard] } },
      },
      {
        name: 'tools',
        mcp: {
          statefulMode: 'Stateless',
          targets: [{ ...tool, policies: { mcpAuthorization: deny } }],
        },
        policies: { mcpAuthorization: { rules: [{ require: "request.headers['x-mcp'] == '1'" }] } },
      },
    ],
    routes: [
      route('guarded', { ...rules('route'), requestHeaders: { set: { 'x-set': "'1'" } } }),
      route('key', {
        apiKey: { location: { header: { name: 'x-key' } }, keys: [{ key: 'k1' }] },
      }),
      route('users', { basicAuth: { htpasswd: { file: 'users' } } }),
      route('asked', { extAuthz: { host: '127.0.0.1:1', protocol: { http: {} } } }),
      route('ref', {}, [{ backend: 'up', policies: rules('ref') }]),
      route('inner', {}, [{ backend: 'inner' }]),
      route('targeted', {}),
      route('group', rules('group'), [{ routeGroup: 'group' }]),
      route('v1', {}, [{ backend: 'ai' }]),
      route('mcp', {}, [{ backend: 'tools' }]),
      { name: 'hosted', hostnames: ['*.h.test'], policies: rules('hosted'), backends: up },
      { name: 'layer', gateways: ['layered', 'secure'], backends: up },
      { name: 'rest', backends: up },
    ],
    routeGroups: [
      { name: 'group', routes: [{ name: 'one', policies: rules('inner-route'), backends: up }] },
    ],
    tcpRoutes: [{ name: 'stream', gateways: 'stream', backends: up }],
    policies: [
      { name: 'of-route', target: { route: 'targeted' }, traffic: rules('target') },
      { name: 'of-backend', target: { backend: 'inner' }, backend: rules('backend-target') },
    ],
  }
}

/** A client's request, and whether it is served if the configuration is valid. */
export interface Probe {
  readonly name: string
  readonly isServed: boolean
  readonly send: (ports: Ports) => Promise<string>
}

export const PROBES: readonly Probe[] = [
  ...both('/guarded', ['x-route']),
  ...both('/key', [], { 'x-key': 'k1' }),
  ...both('/users', [], { authorization: `Basic ${btoa('alice:password')}` }),
  ...both('/ref', ['x-ref']),
  ...both('/inner', ['x-backend', 'x-backend-target']),
  ...both('/targeted', ['x-target']),
  ...both('/group', ['x-group', 'x-inner-route']),
  { name: '/asked', isServed: false, send: ({ plain }) => get(plain, '/asked') },
  { name: '/', isServed: true, send: ({ plain }) => get(plain, '/') },
  ...hosted('q.h.test', ['x-hosted'], 'plain'),
  ...hosted('o.test', ['x-gateway', 'x-any'], 'layered'),
  ...hosted('x.test', ['x-gateway', 'x-x'], 'layered'),
  ...hosted('q.w.test', ['x-gateway', 'x-w'], 'layered'),
  { name: 'x.test', isServed: false, send: ({ layered }) => get(layered, '/', LAYERED, 'x.test') },
  {
    name: 'w.test',
    isServed: false,
    send: ({ layered }) => get(layered, '/', LAYERED, 'a.w.test'),
  },
  { name: 'a.test', isServed: false, send: ({ tls }) => https(tls, 'a.test', {}) },
  { name: 'a.test +', isServed: true, send: ({ tls }) => https(tls, 'a.test', { 'x-a': '1' }) },
  { name: 'b.test', isServed: true, send: ({ tls }) => https(tls, 'b.test', {}) },
  { name: 'tcp', isServed: false, send: ({ tcp }) => get(tcp, '/') },
  ...[[], ['x-ai'], ['x-provider']].map((has) => chat(has, 'hi', false)),
  chat(['x-ai', 'x-provider'], 'hi', true),
  chat(['x-ai', 'x-provider'], 'a secret', false),
  call([], 'echo', false),
  call(['x-mcp'], 'echo', true),
  call(['x-mcp'], 'del', false),
]

const LAYERED = { 'x-gateway': '1', 'x-any': '1' }

/** Probes without any header, without each header, and with all headers. */
function both(path: string, headers: readonly string[], given: Record<string, string> = {}) {
  return lacking(headers, given).map(({ name, isServed, has }) => ({
    name: `${path} ${name}`,
    isServed,
    send: ({ plain }: Ports) => get(plain, path, has),
  }))
}

function hosted(host: string, headers: readonly string[], port: 'plain' | 'layered') {
  return lacking(headers).map(({ name, isServed, has }) => ({
    name: `${host} ${name}`,
    isServed,
    send: (ports: Ports) => get(ports[port], '/', has, host),
  }))
}

function lacking(headers: readonly string[], given: Record<string, string> = {}) {
  const all = { ...given, ...Object.fromEntries(headers.map((name) => [name, '1'])) }
  const without = Object.keys(all).map((left) => {
    const has = Object.fromEntries(Object.entries(all).filter(([name]) => name !== left))
    return { name: `without ${left}`, isServed: false, has }
  })
  return [...without, { name: 'with all', isServed: true, has: all }]
}

function chat(headers: readonly string[], content: string, isServed: boolean): Probe {
  const body = { model: 'm', messages: [{ role: 'user', content }] }
  const has = Object.fromEntries(headers.map((name) => [name, '1']))
  return {
    name: `chat ${headers.join()} ${content}`,
    isServed,
    send: ({ plain }) => get(plain, '/v1/chat/completions', has, 'c.test', body),
  }
}

function call(headers: readonly string[], name: string, isServed: boolean): Probe {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }
  const accept = 'application/json, text/event-stream'
  const has = Object.fromEntries(headers.map((one) => [one, '1']))
  const all = { ...has, accept, 'mcp-protocol-version': '2025-06-18' }
  return {
    name: `call ${headers.join()} ${name}`,
    isServed,
    send: ({ plain }) => get(plain, '/mcp', all, 'm.test', body),
  }
}

async function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  host = '127.0.0.1',
  body?: object,
): Promise<string> {
  const { request } = await import('node:http')
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const options = { port, host: '127.0.0.1', path, agent: false, method: body ? 'POST' : 'GET' }
  return new Promise((resolve) => {
    const sent = request({ ...options, headers: { ...headers, ...type, host } }, (response) => {
      let text = ''
      response.on('data', (bytes) => {
        text += bytes
      })
      response.on('end', () => resolve(found(response.statusCode, text)))
      response.on('error', () => resolve('closed'))
    })
    sent.on('error', () => resolve('closed'))
    sent.end(body && JSON.stringify(body))
  })
}

function https(port: number, name: string, headers: Record<string, string>): Promise<string> {
  const options = { port, host: '127.0.0.1', servername: name, rejectUnauthorized: false }
  const socket = connectTls({ ...options, ALPNProtocols: ['http/1.1'] })
  const lines = Object.entries({ host: name, connection: 'close', ...headers })
  const head = lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')
  socket.write(`GET / HTTP/1.1\r\n${head}\r\n`)
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  socket.on('error', () => {})
  return new Promise((resolve) => {
    socket.on('close', () => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1]
      resolve(status === undefined ? 'closed' : found(Number(status), text))
    })
  })
}

/** The status, and whether the response is the backend's. */
function found(status: number | undefined, text: string): string {
  return `${status}${text.includes(SERVED) ? ` ${SERVED}` : ''}`
}

/** Contained in each response of the backend. */
export const SERVED = 'SERVED'
