import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import type { KubeObject } from '../cluster/object.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { type Converter, NotConvertible } from './converter.ts'
import { a2a, apiKey, authentication, basic, jwt, oidc } from './sign-in-values.ts'
import { ClusterView } from './view.ts'

const object = (kind: string, name: string, parts: object, labels = {}, namespace = 'apps') =>
  ({ apiVersion: 'v1', kind, metadata: { name, namespace, labels }, ...parts }) as KubeObject
const base64 = (text: string) => Buffer.from(text).toString('base64')
const hashOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

const EDGE = { keys: 'edge' }
const OBJECTS = [
  object('Secret', 'plain', { stringData: { ci: ' key-one\n', cd: 'key-two' } }),
  object('Secret', 'encoded', { data: { ci: base64('key-three') } }, EDGE),
  object('Secret', 'other-label', { stringData: { ci: 'key-four' } }, { keys: 'core' }),
  object('Secret', 'elsewhere', { stringData: { ci: 'key-five' } }, EDGE, 'shop'),
  object('Secret', 'no-entries', {}),
  object('Secret', 'sign-in', {
    stringData: {
      ...{ '.htaccess': 'alice:hash', users: 'bob:hash', empty: '', blank: ' \n' },
      ...{ clientSecret: ' client\n', OIDC_COOKIE_SECRET: 'cookie\n', 'tls.key': 'PEM' },
    },
  }),
  object('ConfigMap', 'hashes', { data: { a: 'sha256:1', b: 'sha256:2' } }, EDGE),
  object('ConfigMap', 'other-hashes', { data: { c: 'sha256:3' } }, { keys: 'core' }),
  object('ConfigMap', 'hashes-elsewhere', { data: { d: 'sha256:4' } }, EDGE, 'shop'),
]

/** The converted value, or why there is none. */
function converted(convert: Converter, value: unknown): unknown {
  const view = new ClusterView(undefined)
  view.update(snapshotOf(OBJECTS), [])
  const resolve = () => assert.fail('refers to no backend')
  try {
    const all = convert(value, { field: 'spec.x', namespace: 'apps', view, resolve })
    assert.deepEqual(
      all.map(({ field }) => field),
      ['spec.x'],
    )
    return all[0]?.value
  } catch (error) {
    if (!(error instanceof NotConvertible)) throw error
    return `${error.code} ${error.field}: ${error.message}`
  }
}

const keysOf = (...keys: readonly (readonly [string, string])[]) => ({
  keys: keys.map(([name, keyHash]) => ({ keyHash, metadata: { name } })),
})

describe('a converted policy for API keys', () => {
  const [ONE, TWO] = [
    ['ci', hashOf('key-one')],
    ['cd', hashOf('key-two')],
  ] as const
  const THREE = ['ci', hashOf('key-three')] as const
  const HASHES = [
    ['a', 'sha256:1'],
    ['b', 'sha256:2'],
  ] as const
  const NONE = 'PC0702 spec.x.: no keys are configured, so no client can authenticate'
  for (const [title, value, expected] of [
    ['of a Secret', { secretRef: { name: 'plain' } }, keysOf(ONE, TWO)],
    ['of Secrets with labels', { secretSelector: { matchLabels: EDGE } }, keysOf(THREE)],
    ['of ConfigMaps with labels', { configMapSelector: { matchLabels: EDGE } }, keysOf(...HASHES)],
    [
      'of all of them, with the other fields',
      {
        mode: 'Optional',
        secretRef: { name: 'plain' },
        secretSelector: { matchLabels: EDGE },
        configMapSelector: { matchLabels: EDGE },
      },
      { mode: 'Optional', ...keysOf(ONE, TWO, THREE, ...HASHES) },
    ],
    ['of none', {}, NONE],
    ['of an empty Secret', { secretRef: { name: 'no-entries' } }, NONE],
    ['of labels that nothing has', { secretSelector: { matchLabels: { keys: 'none' } } }, NONE],
    [
      'of a Secret that is elsewhere',
      { secretRef: { name: 'elsewhere' } },
      'PC0702 spec.x.secretRef: Secret apps/elsewhere not found',
    ],
    [
      'of a Secret without a name',
      { secretRef: {} },
      'PC0701 spec.x.secretRef: not a valid reference: `name` is required',
    ],
    [
      'of Secrets by other means than labels',
      { secretSelector: { matchLabels: 3 } },
      'PC0702 spec.x.secretSelector: `matchLabels` is required',
    ],
    [
      'of ConfigMaps by other means than labels',
      { configMapSelector: { matchLabels: 3 } },
      'PC0702 spec.x.configMapSelector: `matchLabels` is required',
    ],
    ['that is no object', 'keys', 'keys'],
  ] as const) {
    it(`has the keys ${title}`, () => assert.deepEqual(converted(apiKey, value), expected))
  }
})

describe('a converted policy for passwords', () => {
  const field = 'spec.x.secretRef'
  for (const [title, value, expected] of [
    [
      'the usual entry',
      { realm: 'r', secretRef: { name: 'sign-in' } },
      { realm: 'r', htpasswd: 'alice:hash' },
    ],
    ['a named entry', { secretRef: { name: 'sign-in', key: 'users' } }, { htpasswd: 'bob:hash' }],
    [
      'no entry',
      { secretRef: { name: 'plain' } },
      `PC0702 ${field}: entry \`.htaccess\` of Secret apps/plain not found`,
    ],
    [
      'an empty entry',
      { secretRef: { name: 'sign-in', key: 'empty' } },
      `PC0702 ${field}: entry \`empty\` of Secret apps/sign-in not found`,
    ],
    ['no reference', { realm: 'r' }, { realm: 'r' }],
    ['no object', 7, 7],
  ] as const) {
    it(`has those of ${title}`, () => assert.deepEqual(converted(basic, value), expected))
  }
})

describe('a converted policy for sign-in', () => {
  const cookieSecretRef = { name: 'sign-in' }
  const cookie = { cookieSecret: 'cookie' }
  for (const [title, value, expected] of [
    ['the secret of cookies', { issuer: 'i', cookieSecretRef }, { issuer: 'i', ...cookie }],
    [
      'the secret of a client',
      { cookieSecretRef, clientSecretRef: { name: 'sign-in' } },
      { ...cookie, clientSecret: 'client' },
    ],
    [
      'a named entry',
      { cookieSecretRef: { name: 'plain', key: 'ci' } },
      { cookieSecret: 'key-one' },
    ],
    [
      'no such Secret',
      { cookieSecretRef: { name: 'nowhere' } },
      'PC0702 spec.x.cookieSecretRef: entry `OIDC_COOKIE_SECRET` of Secret apps/nowhere not found',
    ],
    [
      'a blank entry',
      { cookieSecretRef, clientSecretRef: { name: 'sign-in', key: 'blank' } },
      'PC0702 spec.x.clientSecretRef: entry `blank` of Secret apps/sign-in not found',
    ],
    [
      'no reference for cookies',
      {},
      'PC0701 spec.x.cookieSecretRef: not a valid reference: `name` is required',
    ],
    ['no object', null, null],
    ...(['clientSecret', 'cookieSecret', 'redirectURI'] as const).map(
      (name) =>
        [
          `a field that only files have: ${name}`,
          { cookieSecretRef, [name]: 'x' },
          `PC0701 spec.x.${name}: unknown field \`${name}\``,
        ] as const,
    ),
  ] as const) {
    it(`with ${title}`, () => assert.deepEqual(converted(oidc, value), expected))
  }
})

describe('converted key sets', () => {
  const remote = (more: object) => ({ providers: [{ issuer: 'i', jwks: { remote: more } }] })
  const at = (url: string, more = {}) => ({ providers: [{ issuer: 'i', jwks: { url, ...more } }] })
  const field = 'spec.x.providers[0].jwks.remote.backendRef'
  const notService = `PC0704 ${field}: a key set can be fetched only from a Service`
  for (const [title, value, expected] of [
    [
      'at a URL',
      remote({ url: 'https://i/keys', cacheDuration: '5m' }),
      at('https://i/keys', { cacheDuration: '5m' }),
    ],
    ['in the policy', { providers: [{ issuer: 'i', jwks: { inline: '{}' } }] }, undefined],
    ['of a provider without any', { providers: [{ issuer: 'i' }, 3] }, undefined],
    ['of no providers', { providers: 3 }, undefined],
    [
      'at a Service, by its name in the cluster',
      remote({ backendRef: { name: 'keys', port: 81 }, jwksPath: '/jwks' }),
      at('http://keys.apps.svc.cluster.local:81/jwks'),
    ],
    [
      'at a Service without a port and a path',
      remote({ backendRef: { name: 'keys', namespace: 'apps' } }),
      at('http://keys.apps.svc.cluster.local:80'),
    ],
    [
      'at a Service of another namespace',
      remote({ backendRef: { name: 'keys', namespace: 'shop', port: 80 } }),
      `PC0703 ${field}: a key set can be fetched only from a Service in the namespace of the policy`,
    ],
    [
      'at another kind',
      remote({ backendRef: { name: 'keys', kind: 'ProxyBackend', group: 'portcullis.dev' } }),
      notService,
    ],
    [
      'at another kind of the same group',
      remote({ backendRef: { name: 'k', kind: 'Pod' } }),
      notService,
    ],
    ['at nothing', remote({}), notService],
  ] as const) {
    it(`are fetched ${title}`, () => {
      assert.deepEqual(converted(jwt, value), expected ?? value)
      if (!('providers' in value) || !Array.isArray(value.providers)) return
      const [provider] = value.providers as { jwks?: unknown }[]
      if (provider?.jwks === undefined) return
      // Agents are verified with the same.
      const verified = converted(a2a, { verify: { jwks: provider.jwks } })
      const result = (expected ?? value) as string | { providers: { jwks: unknown }[] }
      assert.deepEqual(
        verified,
        typeof result === 'string'
          ? result.replace('providers[0]', 'verify')
          : { verify: { jwks: result.providers[0]?.jwks } },
      )
    })
  }

  it('come with the secret of a client', () => {
    const value = { providers: [], clientSecretRef: { name: 'sign-in' } }
    assert.deepEqual(converted(jwt, value), { providers: [], clientSecret: 'client' })
    assert.equal(
      converted(jwt, { ...value, clientSecretRef: { name: 'plain' } }),
      'PC0702 spec.x.clientSecretRef: entry `clientSecret` of Secret apps/plain not found',
    )
  })

  it('of agents come with the key that the gateway signs with', () => {
    const sign = { keyId: 'k', secretRef: { name: 'sign-in' } }
    assert.deepEqual(converted(a2a, { sign }), { sign: { keyId: 'k', key: 'PEM' } })
    assert.deepEqual(converted(a2a, { sign: 3, other: 4 }), { sign: 3, other: 4 })
    assert.equal(converted(a2a, 3), 3)
    assert.equal(
      converted(a2a, { sign: { secretRef: { name: 'plain' } } }),
      'PC0702 spec.x.sign.secretRef: entry `tls.key` of Secret apps/plain not found',
    )
  })
})

describe('several authentications', () => {
  it('are each converted as they are alone, with their own fields in messages', () => {
    const secretRef = { name: 'sign-in' }
    const value = {
      mode: 'Optional',
      anyOf: [
        { basicAuthentication: { secretRef } },
        { apiKeyAuthentication: { secretRef: { name: 'encoded' } } },
        { jwtAuthentication: { providers: [], clientSecretRef: secretRef }, other: 1 },
        'not one',
      ],
    }
    assert.deepEqual(converted(authentication, value), {
      mode: 'Optional',
      anyOf: [
        { basicAuthentication: { htpasswd: 'alice:hash' } },
        { apiKeyAuthentication: keysOf(['ci', hashOf('key-three')]) },
        { jwtAuthentication: { providers: [], clientSecret: 'client' }, other: 1 },
        'not one',
      ],
    })
    assert.equal(
      converted(authentication, { anyOf: [{}, { apiKeyAuthentication: {} }] }),
      'PC0702 spec.x.anyOf[1].apiKeyAuthentication.: no keys are configured, so no client can authenticate',
    )
    assert.deepEqual(converted(authentication, { anyOf: 3 }), { anyOf: 3 })
  })
})
