import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import {
  decide,
  headersOf,
  outcome,
  programOf,
  TestServices,
} from '../../../test/program/models.ts'

const NOW = Date.UTC(2026, 0, 1)
const hashOf = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`

function open(apiKey: object, rules: readonly unknown[] = []) {
  const services = Object.assign(new TestServices(), { policyDeps: { date: () => NOW } })
  const authorization = rules.length === 0 ? {} : { authorization: { rules } }
  return programOf({ routes: [{ policies: { apiKey, ...authorization } }] }, services)
}

const keys = [
  { key: 'alpha', metadata: { user: 'alice', groups: ['eng'] } },
  { keyHash: hashOf('beta').toUpperCase().replace('SHA256', 'sha256'), metadata: { user: 'bob' } },
  { key: 'old', expires: '2025-12-31T23:59:59Z' },
  { key: 'now', expires: '2026-01-01T00:00:00Z' },
  { key: 'new', expires: '2026-01-01T00:00:01Z' },
]
const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

describe('API keys', () => {
  for (const [what, asked, strict, optional, permissive] of [
    ['a known key', bearer('alpha'), 'up', 'up', 'up'],
    ['one that is known by its digest', bearer('beta'), 'up', 'up', 'up'],
    ['no key', {}, '401 missing', 'up', 'up'],
    ['an unknown key', bearer('gamma'), '401 unknown-credential', '401 unknown-credential', 'up'],
    [
      'the digest itself',
      bearer(hashOf('beta')),
      '401 unknown-credential',
      '401 unknown-credential',
      'up',
    ],
    ['one that has expired', bearer('old'), '401 expired', '401 expired', 'up'],
    ['one that expires now', bearer('now'), '401 expired', '401 expired', 'up'],
    ['one that expires later', bearer('new'), 'up', 'up', 'up'],
    ['an empty one', bearer(''), '401 unknown-credential', '401 unknown-credential', 'up'],
    ['two', bearer('alpha, Bearer alpha'), '401 repeated', '401 repeated', 'up'],
    ['one that is too long', bearer('x'.repeat(5000)), '401 too-large', '401 too-large', 'up'],
    [
      'the name of a property',
      bearer('__proto__'),
      '401 unknown-credential',
      '401 unknown-credential',
      'up',
    ],
    ['another scheme', { headers: { authorization: 'Basic YTpi' } }, '401 missing', 'up', 'up'],
  ] as const) {
    for (const [mode, expected] of [
      ['Strict', strict],
      ['Optional', optional],
      ['Permissive', permissive],
    ] as const) {
      it(`${what}, ${mode}: ${expected}`, async () => {
        const { reply, backend, exchange } = await decide(open({ mode, keys }), asked)
        const fault = exchange.rejection?.fault
        assert.equal(reply === undefined ? backend?.name : `${reply.status} ${fault}`, expected)
      })
    }
  }

  it('rules read its metadata', async () => {
    const program = open({ mode: 'Optional', keys }, [
      "apiKey.user == 'alice' && 'eng' in apiKey.groups",
    ])
    assert.equal(await outcome(program, bearer('alpha')), 'up')
    assert.equal(await outcome(program, bearer('beta')), '403 authorization')
    assert.equal(await outcome(program), '403 authorization')
  })

  it('rules and logs see the key hash prefix, never the key', async () => {
    const { exchange } = await decide(open({ keys }), bearer('alpha'))
    assert.equal(exchange.apiKey?.['key'], hashOf('alpha').slice(0, 19))
    assert.ok(!JSON.stringify(exchange.apiKey).includes('alpha'))
  })

  it('the key is removed from the request, wherever it was', async () => {
    for (const [location, asked, removed] of [
      [undefined, bearer('alpha'), 'authorization'],
      [{ header: { name: 'X-API-Key' } }, { headers: { 'x-api-key': 'alpha' } }, 'x-api-key'],
      [{ queryParameter: { name: 'key' } }, { url: '/?a=1&key=alpha' }, undefined],
    ] as const) {
      const { exchange, reply } = await decide(
        open(location === undefined ? { keys } : { keys, location }),
        asked,
      )
      assert.equal(reply, undefined)
      if (removed === undefined) assert.equal(exchange.search, '?a=1')
      else assert.deepEqual(exchange.requestEdit.removed, [removed])
    }
  })

  it('challenges for the expected credentials', async () => {
    const challenge = async (apiKey: object, asked = {}) =>
      headersOf((await decide(open(apiKey), asked)).reply)['www-authenticate']
    assert.equal(await challenge({ keys }), 'Bearer realm="portcullis"')
    assert.equal(
      await challenge({ keys }, bearer('x')),
      'Bearer realm="portcullis", error="invalid_token"',
    )
    const location = { header: { name: 'x-api-key' } }
    assert.equal(await challenge({ keys, location }), 'ApiKey realm="portcullis"')
  })
})
