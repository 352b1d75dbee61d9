import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText } from './load.ts'

const GATEWAY = 'gateways: { default: { port: 8080 } }\n'

function loaded(text: string) {
  const { result } = loadText(`${GATEWAY}${text}`, 'gateway.yaml', { environment: {} })
  const said = result.diagnostics.map(({ severity, code }) => `${severity} ${code}`)
  const policies = (result.value?.frontend ?? []).map((policy) => ({
    kind: policy.kind,
    value: policy.state === 'valid' ? policy.value : undefined,
  }))
  return { said, policies }
}

describe('settings that older files set below `config`', () => {
  for (const [what, older, newer] of [
    [
      'tracing',
      'config: { tracing: { otlpEndpoint: "http://collector:4317", randomSampling: true } }',
      'frontendPolicies: { tracing: { host: "http://collector:4317", randomSampling: true } }',
    ],
    [
      'tracing by expressions',
      `config: { tracing: { otlpEndpoint: "http://collector:4317", randomSampling: "true",
        fields: { add: { team: "request.headers['x-team']" }, remove: [http.host] } } }`,
      `frontendPolicies: { tracing: { host: "http://collector:4317", randomSampling: "true",
        attributes: { team: "request.headers['x-team']" }, remove: [http.host] } }`,
    ],
    [
      'tracing over HTTP to a path',
      'config: { tracing: { otlpEndpoint: "https://collector/otlp/traces", otlpProtocol: http } }',
      'frontendPolicies: { tracing: { host: "https://collector", protocol: http, path: /otlp/traces } }',
    ],
    [
      'tracing with headers',
      'config: { tracing: { otlpEndpoint: "http://collector:4317", headers: { Authorization: Basic xx } } }',
      'frontendPolicies: { tracing: { host: "http://collector:4317", headers: { Authorization: Basic xx } } }',
    ],
    [
      'a filter of the access log',
      'config: { logging: { level: warn, filter: response.code >= 400 } }',
      'frontendPolicies: { accessLog: { filter: response.code >= 400 } }',
    ],
    [
      'fields of the access log',
      `config: { logging: { fields: { add: { team: "request.headers['x-team']" }, remove: [user_agent] } } }`,
      `frontendPolicies: { accessLog: { add: { team: "request.headers['x-team']" }, remove: [user_agent] } }`,
    ],
  ] as const) {
    it(`${what}: mean what frontendPolicies says`, () => {
      const { said, policies } = loaded(older)
      assert.deepEqual(said, [])
      assert.equal(policies.length, 1)
      const comparable = (own: unknown) => JSON.parse(JSON.stringify(own))
      assert.deepEqual(comparable(policies), comparable(loaded(newer).policies))
    })
  }

  for (const [what, text, code] of [
    [
      'written in both places',
      'config: { logging: { filter: response.code > 1 } }\nfrontendPolicies: { logging: { filter: response.code > 2 } }',
      'error PC0216',
    ],
    [
      'with a header for the collector that is none',
      'config: { tracing: { otlpEndpoint: "http://c:4317", headers: { "a b": c } } }',
      'error PC0215',
    ],
    [
      'without a collector',
      'config: { tracing: { otlpEndpoint: "ftp://c", randomSampling: true } }',
      'error PC0215',
    ],
    ['with a wrong expression', 'config: { logging: { filter: request.path } }', 'error PC0109'],
  ] as const) {
    it(`are rejected ${what}`, () => assert.deepEqual(loaded(text).said, [code]))
  }
})
