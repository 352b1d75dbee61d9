import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import * as z from 'zod'
import { findAnnotated } from './annotations.ts'
import { POLICY_SCHEMAS, policySchema } from './schema.ts'

describe('the list of policies', () => {
  it('has each kind once, and each key and alias once in a section', () => {
    const kinds = POLICY_SCHEMAS.map(({ kind }) => kind)
    assert.equal(new Set(kinds).size, kinds.length)
    for (const section of ['frontend', 'traffic', 'backend'] as const) {
      const keys = POLICY_SCHEMAS.filter(({ sections }) => sections[section] !== undefined)
      const names = keys.flatMap(({ key, aliases }) => [key, ...aliases])
      assert.equal(new Set(names).size, names.length, section)
    }
  })

  for (const { kind, schema } of POLICY_SCHEMAS) {
    it(`${kind} has a folder of that name, and says what it is for`, () => {
      const folder = kind.replaceAll(/[A-Z]+/g, (capitals) => `-${capitals.toLowerCase()}`)
      assert.ok(existsSync(join(import.meta.dirname, folder, 'schema.ts')), folder)
      assert.match(schema.description ?? '', /^[A-Z].{10,}\.$/s)
    })
  }
})

/** Defaults for the heads of responses. */
const RESPONSE_HEAD = { maxResponseHeadSize: 32_768, maxResponseHeaders: 100 }

/** The kind, the input and its parsed value. */
const ACCEPTED: readonly [kind: string, input: unknown, output: unknown][] = [
  [
    'requestHeaders',
    { set: { 'X-A': '1' } },
    { set: [{ name: 'X-A', value: '1' }], add: [], remove: [] },
  ],
  ['responseHeaders', {}, { set: [], add: [], remove: [] }],
  ['requestRedirect', {}, { status: 302 }],
  [
    'requestRedirect',
    { authority: { port: 8443 }, path: { prefix: '/b' }, scheme: 'HTTPS' },
    {
      authority: { port: 8443 },
      path: { kind: 'prefix', value: '/b' },
      scheme: 'https',
      status: 302,
    },
  ],
  ['urlRewrite', { authority: { host: '[::1]' } }, { authority: { host: '[::1]' } }],
  [
    'requestMirror',
    [{ backend: { service: { name: 'ns/shadow', port: 80 } } }],
    [{ backend: { kind: 'service', service: 'shadow', namespace: 'ns', port: 80 }, percentage: 1 }],
  ],
  [
    'timeout',
    { requestTimeout: '1h30m', backendRequest: '0.5s' },
    { request: 5_400_000, backendRequest: 500 },
  ],
  [
    'localRateLimit',
    { requests: 1000, unit: 'hours', burst: 10 },
    [{ maxKeys: 100_000, type: 'requests', capacity: 10, refill: 1000, interval: 3_600_000 }],
  ],
  [
    'authorization',
    { action: 'deny', policy: { matchExpressions: ['a', 'b'] }, mode: 'Audit' },
    {
      rules: [
        { action: 'Deny', expression: 'a', field: 'policy.matchExpressions[0]' },
        { action: 'Deny', expression: 'b', field: 'policy.matchExpressions[1]' },
      ],
      mode: 'Audit',
    },
  ],
  [
    'networkAuthorization',
    { rules: ['a', { require: 'b' }] },
    {
      rules: [
        { action: 'Allow', expression: 'a', field: 'rules[0]' },
        { action: 'Require', expression: 'b', field: 'rules[1].require' },
      ],
      mode: 'Enforce',
    },
  ],
  [
    'apiKey',
    { keys: [{ key: 'abc' }] },
    {
      mode: 'Strict',
      location: { kind: 'header', name: 'authorization', prefix: 'Bearer ' },
      keys: [
        {
          keyHash: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
          metadata: {},
        },
      ],
    },
  ],
  ['http', { version: 2 }, { version: '2', ...RESPONSE_HEAD }],
  ['http', { version: 'HTTP/1.1' }, { version: '1.1', ...RESPONSE_HEAD }],
  [
    'http',
    { maxResponseHeadSize: '1Mi', maxResponseHeaders: 4096 },
    { maxResponseHeadSize: 1_048_576, maxResponseHeaders: 4096 },
  ],
  [
    'frontendTls',
    { minVersion: 1.3, maxVersion: 'TLS_V1_3' },
    { handshakeTimeout: 15_000, minVersion: '1.3', maxVersion: '1.3' },
  ],
  ['proxyProtocol', { version: 'v1' }, { mode: 'Strict', version: 'V1' }],
  [
    'tracing',
    { host: 'otel:4317', randomSampling: true },
    {
      target: { kind: 'host', host: 'otel', port: 4317 },
      protocol: 'grpc',
      path: '/v1/traces',
      randomSampling: 1,
      clientSampling: 1,
      attributes: {},
      resources: {},
      remove: [],
    },
  ],
  [
    'outlierDetection',
    { unhealthyCondition: 'response.code == 500' },
    { unhealthyExpression: 'response.code == 500' },
  ],
  ['connectionLimits', {}, { maxPendingRequests: 1024 }],
  ['loadBalancer', { algorithm: 'roundRobin' }, { algorithm: 'RoundRobin' }],
  [
    'healthCheck',
    { tcp: {} },
    { tcp: {}, interval: 10_000, timeout: 2000, unhealthyThreshold: 3, healthyThreshold: 1 },
  ],
]

describe('a schema normalizes what is written', () => {
  for (const [kind, input, output] of ACCEPTED) {
    it(`${kind}: ${JSON.stringify(input)}`, () => {
      assert.deepEqual(policySchema(kind).parse(input), output)
    })
  }
})

const REJECTED: readonly [kind: string, input: unknown][] = [
  ['connect', { mode: 'Route' }],
  ['authorization', {}],
  ['authorization', { action: 'Allow' }],
  ['authorization', { action: 'Allow', policy: { matchExpressions: [] } }],
  ['authorization', { rules: [] }],
  ['authorization', { rules: [{}] }],
  ['authorization', { rules: [{ allow: 'a', deny: 'b' }] }],
  ['requestHeaders', { set: { 'transfer-encoding': 'chunked' } }],
  ['requestHeaders', { remove: ['Content-Length'] }],
  ['requestHeaders', { set: { a: 'b\r\nc: d' } }],
  ['urlRewrite', { path: { full: 'a' } }],
  ['jwtAuthentication', { issuer: 'a' }],
  ['jwtAuthentication', { providers: [{ issuer: 'a', jwks: '[]' }] }],
  ['jwtAuthentication', { providers: [{ issuer: 'a', jwks: { url: 'ftp://a' } }] }],
  ['apiKey', { keys: [] }],
  ['basicAuth', { users: ['alice:secret'] }],
  ['extAuthz', {}],
  ['extAuthz', { host: 'a:1', backend: 'b' }],
  ['directResponse', { status: 199 }],
  ['retry', { codes: [99] }],
  ['requestMirror', { backend: { host: 'a:1' }, percentage: 2 }],
]

describe('a schema rejects', () => {
  for (const [kind, input] of REJECTED) {
    it(`${kind}: ${JSON.stringify(input)}`, () => {
      assert.equal(policySchema(kind).safeParse(input).success, false)
    })
  }
})

describe('schema annotations', () => {
  it('locate expressions, paths and backend names', () => {
    const input = {
      backend: 'authz',
      protocol: { http: { path: "'/a'", addRequestHeaders: { x: 'jwt.sub' } } },
      cache: { key: ['jwt.sub'], ttl: '1s' },
    }
    const found = findAnnotated(policySchema('extAuthz'), input)
    assert.deepEqual(
      found.map(({ annotation, path }) => `${annotation.is} ${path.join('.')}`),
      [
        'backend backend',
        'expression protocol.http.path',
        'expression protocol.http.addRequestHeaders.x',
        'expression cache.key.0',
      ],
    )
    const tls = findAnnotated(policySchema('backendTLS'), { root: 'ca.pem', cert: { inline: 'x' } })
    assert.deepEqual(
      tls.map(({ path, value }) => [path, value]),
      [[['root'], 'ca.pem']],
    )
  })

  it('are empty for a schema without any', () => {
    assert.deepEqual(findAnnotated(z.strictObject({ a: z.string() }), { a: 'b' }), [])
  })
})
