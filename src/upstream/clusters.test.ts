import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { after, describe, it } from 'node:test'
import type { Exchange } from '../exchange/exchange.ts'
import type { Backend, Endpoint } from '../model/backend.ts'
import type { Attached } from '../model/policy.ts'
import type { UpstreamSettings } from '../model/settings.ts'
import { backendTLS } from '../policies/backend-tls/schema.ts'
import { connectionLimits } from '../policies/connection-limits/schema.ts'
import { healthCheck } from '../policies/health-check/schema.ts'
import { http } from '../policies/http/schema.ts'
import { loadBalancer } from '../policies/load-balancer/schema.ts'
import { outlierDetection } from '../policies/outlier-detection/schema.ts'
import { tcp } from '../policies/tcp/schema.ts'
import { Deadlines } from '../wire/deadlines.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'
import type { Choice, Cluster } from './cluster.ts'
import { type ClusterDeps, openCluster } from './clusters.ts'
import { Resolver } from './dns.ts'
import { parseTarget } from './dynamic-cluster.ts'
import { certify } from './fixtures/certificates.ts'
import { eventually, freePort, RESPONSE, responding, serve } from './fixtures/servers.ts'
import { systemNames } from './name-source.ts'

const SETTINGS: UpstreamSettings = {
  connectTimeout: 60_000,
  idleTimeout: 5_000,
  maxAge: 3_600_000,
  keepalive: { enabled: true, time: 60_000, interval: 60_000, retries: 3 },
}
const resolver = new Resolver({ lookupFamily: 'V4Only' }, { source: systemNames() })
after(() => resolver.close())
const AROUND: ClusterDeps = { settings: SETTINGS, deadlines: new Deadlines(20), resolver }

const origin = { document: 'test', path: [] } as unknown as Backend['origin']

function hosts(...endpoints: readonly Endpoint[]): Backend {
  return { kind: 'host', name: 'test', origin, policies: [], endpoints }
}

const at = (port: number, host = '127.0.0.1'): Endpoint => ({ host, port })

function policy(kind: string, value: unknown): Attached {
  return { state: 'valid', kind, section: 'backend', level: 'backend', policy: 'p', origin, value }
}

/** Parsed by the schemas, so that their shapes and the ones here cannot diverge. */
const POLICY = {
  backendTLS: (input: unknown) => policy('backendTLS', backendTLS.parse(input)),
  connectionLimits: (input: unknown) => policy('connectionLimits', connectionLimits.parse(input)),
  healthCheck: (input: unknown) => policy('healthCheck', healthCheck.parse(input)),
  http: (input: unknown) => policy('http', http.parse(input)),
  loadBalancer: (input: unknown) => policy('loadBalancer', loadBalancer.parse(input)),
  outlierDetection: (input: unknown) => policy('outlierDetection', outlierDetection.parse(input)),
  tcp: (input: unknown) => policy('tcp', tcp.parse(input)),
}

/** Like a parsed request: the host without the port, and the header as written. */
const asking = (written: string) => {
  const headers = new Map([['host', written]])
  return { request: { host: written.replace(/:\d+$/, ''), headers } } as unknown as Exchange
}

/** Sends one request; returns the status, or why there is none. */
async function ask(cluster: Cluster, exchange?: Exchange, tried: readonly string[] = []) {
  const choice = cluster.choose(exchange, tried)
  if (typeof choice === 'string') return choice
  const connection = await connected(choice)
  if (typeof connection === 'string') {
    choice.done({ outcome: 'connect-failed', status: 0, duration: 1 })
    return connection
  }
  return new Promise<number | string>((resolve) => {
    let status = 0
    connection.send('GET', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', false, 1_000, {
      idleTimeout: Number.POSITIVE_INFINITY,
      interim: () => {},
      response: (head) => {
        status = head.status
        return false
      },
      data: () => true,
      ended: () => {
        choice.done({ outcome: 'responded', status, duration: 1 })
        resolve(status)
      },
      failed: (reason) => {
        choice.done({ outcome: 'reset', status: 0, duration: 1 })
        resolve(reason)
      },
      drained: () => {},
    })
  })
}

function connected({ pool }: Choice): Promise<UpstreamConnection | string> {
  const free = pool.take()
  if (free !== undefined) return Promise.resolve(free)
  return new Promise((resolve) => pool.request({ connected: resolve, unconnected: resolve }))
}

describe('host backends', () => {
  it('serve requests, by address and by name', async () => {
    const server = await serve(responding())
    for (const host of ['127.0.0.1', 'localhost']) {
      const cluster = openCluster(hosts(at(server.port, host)), [], AROUND)
      assert.equal(await ask(cluster), 200)
      assert.equal(await ask(cluster), 200)
      assert.deepEqual(cluster.counts(), {
        open: 1,
        idle: 1,
        waiting: 0,
        healthy: 1,
        unhealthy: 0,
        ejected: 0,
      })
      cluster.close()
      assert.equal(cluster.counts().open, 0)
    }
    assert.equal(server.accepted(), 2)
    await server.close()
  })

  it('are reached over a unix socket', async () => {
    const path = `${tmpdir()}/portcullis-cluster-${process.pid}.sock`
    const server = await serve(responding(), { path })
    const cluster = openCluster({ kind: 'unix', name: 'u', origin, policies: [], path }, [], AROUND)
    assert.equal(await ask(cluster), 200)
    assert.equal((cluster.choose(undefined, []) as Choice).endpoint, `unix:${path}`)
    cluster.close()
    await server.close()
  })

  for (const [endpoint, name, host] of [
    [{ host: 'a.test', port: 80 }, 'a.test:80', ''],
    [{ host: '::1', port: 80 }, '[::1]:80', ''],
    [{ host: 'a.test', port: 443, scheme: 'https' }, 'a.test:443', 'a.test'],
    [{ host: 'a.test', port: 8443, scheme: 'https' }, 'a.test:8443', 'a.test:8443'],
    [{ host: 'a.test', port: 80, scheme: 'http' }, 'a.test:80', 'a.test'],
  ] as const satisfies readonly (readonly [Endpoint, string, string])[]) {
    it(`${JSON.stringify(endpoint)} is ${name} with host ${host || 'of the client'}`, () => {
      const cluster = openCluster(hosts(endpoint), [], AROUND)
      const choice = cluster.choose(undefined, []) as Choice
      assert.deepEqual([choice.endpoint, choice.host], [name, host])
      cluster.close()
    })
  }

  it('fail with a reason if the backend or a policy is invalid or endpoints are missing', () => {
    const invalid: Backend = { kind: 'invalid', name: 'i', origin, policies: [], diagnostics: [] }
    const broken: Attached = {
      state: 'invalid',
      kind: 'backendTLS',
      section: 'backend',
      level: 'backend',
      policy: 'p',
      origin,
      diagnostics: [],
    }
    const mcp: Backend = { kind: 'mcp', name: 'm', origin, policies: [], targets: [], options: {} }
    assert.equal(openCluster(invalid, [], AROUND).choose(undefined, []), 'invalid-backend')
    assert.equal(
      openCluster(hosts(at(1)), [broken], AROUND).choose(undefined, []),
      'invalid-policy',
    )
    assert.equal(openCluster(mcp, [], AROUND).choose(undefined, []), 'no-endpoint')
    assert.equal(openCluster(hosts(), [], AROUND).choose(undefined, []), 'no-endpoint')
  })

  it('use TLS if a policy or the scheme requires it', async () => {
    const authority = certify({ name: 'Authority' })
    const own = certify({ name: 'api', names: ['DNS:api.test'], issuer: authority })
    const server = await serve(responding(), { tls: { cert: own.cert, key: own.key } })
    const root = { inline: authority.cert }
    const named = POLICY.backendTLS({ root, hostname: 'api.test' })
    const cluster = openCluster(hosts(at(server.port)), [named], AROUND)
    assert.equal(await ask(cluster), 200)
    cluster.close()
    const byScheme = openCluster(hosts({ ...at(server.port), scheme: 'https' }), [], AROUND)
    assert.equal(await ask(byScheme), 'tls-untrusted')
    const unreadable = POLICY.backendTLS({ root, cert: { inline: 'x' }, key: { inline: 'y' } })
    const failing = openCluster(hosts(at(server.port)), [unreadable], AROUND)
    assert.equal(await ask(failing), 'tls-material')
    await server.close()
  })

  it('reject requests beyond their limits', async () => {
    const server = await serve(() => {})
    const limits = POLICY.connectionLimits({ maxConnections: 1, maxPendingRequests: 1 })
    const short = POLICY.tcp({ connectTimeout: '50ms' })
    const cluster = openCluster(hosts(at(server.port)), [limits, short], AROUND)
    const first = await connected(cluster.choose(undefined, []) as Choice)
    const second = connected(cluster.choose(undefined, []) as Choice)
    assert.equal(cluster.choose(undefined, []), 'overloaded')
    assert.equal(await second, 'pending-timeout')
    ;(first as UpstreamConnection).abort()
    cluster.close()
    await server.close()
  })
})

describe('several endpoints', () => {
  it('ejects one that rejects connections, and restores it without a restart', async () => {
    const [good, port] = [await serve(responding()), await freePort()]
    const policies = [
      POLICY.loadBalancer({ algorithm: 'RoundRobin' }),
      POLICY.outlierDetection({ eviction: { consecutiveFailures: 2, duration: '100ms' } }),
    ]
    const cluster = openCluster(hosts(at(good.port), at(port)), policies, AROUND)
    for (let i = 0; i < 4; i++) await ask(cluster)
    assert.equal(cluster.counts().ejected, 1)
    for (let i = 0; i < 10; i++) assert.equal(await ask(cluster), 200)
    const revived = await serve(responding(), { port })
    assert.ok(await eventually(() => cluster.counts().ejected === 0))
    for (let i = 0; i < 10; i++) assert.equal(await ask(cluster), 200)
    assert.equal(revived.accepted(), 1)
    cluster.close()
    await good.close()
    await revived.close()
  })

  it('sends no requests to one that fails its health check until it is healthy', async () => {
    let isWell = false
    const ill = await serve(responding(() => (isWell ? RESPONSE : RESPONSE.replace('200', '500'))))
    const well = await serve(responding())
    const check = POLICY.healthCheck({ http: {}, interval: '20ms', timeout: '100ms' })
    const cluster = openCluster(hosts(at(ill.port), at(well.port)), [check], AROUND)
    assert.ok(await eventually(() => cluster.counts().unhealthy === 1))
    for (let i = 0; i < 20; i++) assert.equal(await ask(cluster), 200)
    isWell = true
    assert.ok(await eventually(() => cluster.counts().unhealthy === 0))
    cluster.close()
    assert.ok(await eventually(() => ill.sockets.size + well.sockets.size === 0))
    await ill.close()
    await well.close()
  })

  it('retries on another endpoint', () => {
    const cluster = openCluster(hosts(at(1), at(2), at(3)), [], AROUND)
    for (let i = 0; i < 50; i++) {
      const first = cluster.choose(undefined, []) as Choice
      const second = cluster.choose(undefined, [first.endpoint]) as Choice
      assert.notEqual(first.endpoint, second.endpoint)
      for (const one of [first, second]) {
        one.done({ outcome: 'cancelled', status: 0, duration: 0 })
        one.done({ outcome: 'cancelled', status: 0, duration: 0 })
      }
    }
    cluster.close()
  })

  it('maps equal keys to the same endpoint', () => {
    const hash = POLICY.loadBalancer({ algorithm: 'ConsistentHash', hashKey: 'request.host' })
    const hashKey = ({ request }: Exchange) => request.host
    const cluster = openCluster(hosts(at(1), at(2), at(3)), [hash], AROUND, { hashKey })
    const endpoints = Array.from({ length: 20 }, () => {
      return (cluster.choose(asking('alice'), []) as Choice).endpoint
    })
    assert.equal(new Set(endpoints).size, 1)
    cluster.close()
  })
})

describe('dynamic backends', () => {
  const dynamic: Backend = { kind: 'dynamic', name: 'd', origin, policies: [] }
  const free = { ...AROUND, allowLocalTargets: true }

  it('connect to the host of the request or of an expression', async () => {
    const server = await serve(responding())
    const own = openCluster(dynamic, [], free)
    assert.equal(await ask(own, asking(`127.0.0.1:${server.port}`)), 200)
    const target = () => `localhost:${server.port}`
    const computed = openCluster(dynamic, [], free, { target })
    assert.equal(await ask(computed, asking('ignored')), 200)
    assert.equal(await ask(computed, asking('ignored')), 200)
    assert.equal(server.accepted(), 2)
    own.close()
    computed.close()
    assert.ok(await eventually(() => server.sockets.size === 0))
    await server.close()
  })

  it('use HTTP/2 if the policy requires it', async () => {
    const versions: string[] = []
    const server = createHttp2Server((request, response) => {
      versions.push(request.httpVersion)
      response.end('ok')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const own = openCluster(dynamic, [POLICY.http({ version: 'HTTP2' })], free)
    const { port } = server.address() as AddressInfo
    assert.equal(await ask(own, asking(`127.0.0.1:${port}`)), 200)
    assert.deepEqual(versions, ['2.0'])
    own.close()
    server.close()
  })

  for (const host of ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254', '[::ffff:127.0.0.1]']) {
    it(`never lead to ${host} unless that is allowed`, async () => {
      assert.equal(await ask(openCluster(dynamic, [], AROUND), asking(host)), 'forbidden-address')
    })
  }

  for (const [text, expected] of [
    ['', 'no-target'],
    ['a b', 'bad-target'],
    ['user@host', 'bad-target'],
    ['host/path', 'bad-target'],
    ['host:0', 'bad-target'],
    ['host:99999', 'bad-target'],
    ['127.1', 'bad-target'],
    ['2130706433', 'bad-target'],
    ['0x7f.0.0.1', 'bad-target'],
    ['0177.0.0.1', 'bad-target'],
    ['host\r\nx: y', 'bad-target'],
  ] as const) {
    it(`${JSON.stringify(text)} is ${expected}`, async () => {
      assert.equal(await ask(openCluster(dynamic, [], free), asking(text)), expected)
    })
  }

  for (const [text, endpoint] of [
    ['api.test', { host: 'api.test', port: 80 }],
    ['API.test:8080', { host: 'api.test', port: 8080 }],
    ['https://api.test/', { host: 'api.test', port: 443, scheme: 'https' }],
    ['[2001:db8::1]:81', { host: '2001:db8::1', port: 81 }],
    ['1a.de', { host: '1a.de', port: 80 }],
  ] as const) {
    it(`${text} is ${JSON.stringify(endpoint)}`, () => {
      assert.deepEqual(parseTarget(text, 80), endpoint)
    })
  }
})
