import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonValue } from '../../model/json.ts'
import type { ResourceKind } from './resource-kinds.ts'
import { SecretReferences } from './secrets.ts'

const REFERENCE = /^\(secret [0-9a-f]{32}\)$/

describe('what the admin API shows of a resource', () => {
  const references = new SecretReferences()

  for (const [what, kind, value] of [
    [
      'the key of a budget',
      'llm',
      { models: [], policies: { budgets: [{ tokens: 1, per: 'Day', key: 'apiKey.owner' }] } },
    ],
    [
      'the key of a rate limit',
      'routes',
      { policies: { localRateLimit: { requests: 1, unit: 'Days', key: 'jwt.sub' } } },
    ],
    ['the name of a file', 'gateways', { port: 1, tls: { cert: 'a.pem', key: 'b.pem' } }],
  ] as const satisfies readonly (readonly [string, ResourceKind, JsonValue])[]) {
    it(`is ${what} as it is, since the schema says that it is no secret`, () => {
      assert.deepEqual(references.hide(kind, value), value)
    })
  }

  for (const [what, kind, value, at] of [
    [
      'a key of a provider',
      'llm',
      { models: [{ name: 'a', provider: 'openAI', params: { apiKey: 'sk-1' } }] },
      'models.0.params.apiKey',
    ],
    [
      'a plain key of a client',
      'llm',
      { models: [], policies: { apiKey: { keys: [{ key: 'k-1' }] } } },
      'policies.apiKey.keys.0.key',
    ],
    [
      'a secret at an unknown place',
      'routes',
      { policies: { nonsense: { key: 'k-1' } } },
      'policies.nonsense.key',
    ],
    [
      'a private key instead of the name of a file',
      'gateways',
      { port: 1, tls: { cert: 'a.pem', key: '-----BEGIN PRIVATE KEY-----\nx' } },
      'tls.key',
    ],
  ] as const satisfies readonly (readonly [string, ResourceKind, JsonValue, string])[]) {
    it(`is a reference instead of ${what}`, () => {
      const shown = at
        .split('.')
        .reduce<unknown>((inner, step) => (inner as never)[step], references.hide(kind, value))
      assert.match(String(shown), REFERENCE)
    })
  }
})
