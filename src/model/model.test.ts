import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/fuzz/any-text.ts'
import { type Change, diffModels } from './diff.ts'
import { freeze, freezeModel } from './freeze.ts'
import { hashOf, hashText } from './hash.ts'
import { canonicalJson } from './json.ts'
import type { Model } from './model.ts'
import { reconcile } from './reconcile.ts'
import { redact, secretsOf } from './redact.ts'
import { runToCompletion } from './steps.ts'
import { versionOf, versionOfModel } from './version.ts'

describe('canonical JSON', () => {
  for (const [name, value, text] of [
    ['sorts keys', { b: 1, a: { d: 2, c: 3 } }, '{"a":{"c":3,"d":2},"b":1}'],
    ['keeps the order of lists', [2, 1], '[2,1]'],
    ['leaves out what is undefined', { a: undefined, b: null }, '{"b":null}'],
    ['takes every scalar', [null, true, 1.5, 'ä"'], '[null,true,1.5,"ä\\""]'],
  ] as const) {
    it(name, () => assert.equal(canonicalJson(value), text))
  }

  it('escapes strings as JSON.stringify does', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        assert.equal(canonicalJson(text), JSON.stringify(text))
        assert.equal(canonicalJson({ [text]: 1 }), JSON.stringify({ [text]: 1 }))
      }),
    )
    for (const text of ['\ud800', '\u2028', '\x7f', '\\', '\0']) {
      assert.equal(canonicalJson(text), JSON.stringify(text))
    }
  })

  it('parses to an equal value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

describe('the hash', () => {
  it('is equal for equal values, in whatever order they were built', () => {
    assert.equal(hashOf({ a: 1, b: [2] }), hashOf({ b: [2], a: 1 }))
    assert.match(hashOf({}), /^[0-9a-f]{32}$/)
  })

  it('of a Model covers all its parts, in whatever order they were built', () => {
    const versionOf = (model: object) => {
      const steps = versionOfModel(model as Model)
      for (let count = 1; ; count++) {
        const { done, value } = steps.next()
        if (done) return { value, count }
      }
    }
    const model = { routes: [{ name: 'a' }, { name: 'b' }], backends: [], settings: { x: 1 } }
    const { settings, backends, routes } = model
    const first = versionOf(model)
    // Each part is one step and is computed once.
    assert.equal(first.count, 4)
    const again = versionOf({ settings, backends, routes })
    assert.deepEqual(again, { value: first.value, count: 1 })
    const others = [
      { ...model, routes: [{ name: 'b' }, { name: 'a' }] },
      { ...model, routes: [{ name: 'a' }] },
      { ...model, routes: [], backends: routes },
      { ...model, settings: { x: 2 } },
    ]
    const versions = [first, ...others.map(versionOf)].map(({ value }) => value)
    assert.equal(new Set(versions).size, 5)
  })

  it('of a part depends on its behavior, not on its place', () => {
    const part = (line: number, name = 'a') => ({
      name,
      origin: { kind: 'part', file: 'x', part: 'routes/a', field: `[${line}]` },
      policies: [{ kind: 'cors', origin: { kind: 'object', object: 'x', field: `[${line}]` } }],
    })
    assert.equal(versionOf(part(1)), versionOf(part(2)))
    assert.notEqual(versionOf(part(1)), versionOf(part(1, 'b')))
  })

  const originOf = (part: string) => ({ kind: 'part', file: 'x', part, field: '' })

  it('of a part covers all of its behavior, whatever names users choose', () => {
    for (const key of ['origin', 'diagnostics']) {
      const values = ['eu', 'us', ['eu'], [{ severity: 'error' }], originOf('a'), originOf('b')]
      const versions = values.map((own) =>
        versionOf({ name: 'a', value: { metadata: { [key]: own } } }),
      )
      assert.equal(new Set(versions).size, versions.length, key)
    }
  })

  it('has known values: versions outlive a process', () => {
    assert.equal(hashText(''), '11fd02ebcb72770f0c66c0248c03471f')
  })

  it('differs for similar strings', () => {
    const texts = ['', ' ', 'a', 'b', 'ab', 'ba', 'aa', 'aaa', '\0', '\0\0', 'ä', 'Ω', '1', '01']
    const many = Array.from({ length: 20_000 }, (_, index) => `route-${index}`)
    const all = [...texts, ...many, 'x'.repeat(1000), `${'x'.repeat(999)}y`]
    assert.equal(new Set(all.map(hashText)).size, all.length)
    // Each quarter by itself, too: no lane is idle.
    for (const at of [0, 8, 16, 24]) {
      const parts = all.map((text) => hashText(text).slice(at, at + 8))
      assert.ok(new Set(parts).size > all.length - 20)
    }
  })
})

describe('freezing', () => {
  it('is deep and returns the same value', () => {
    const value = { list: [{ deep: true }] }
    assert.equal(freeze(value), value)
    assert.ok(Object.isFrozen(value.list[0]))
  })

  it('of a Model proceeds part by part and is complete', () => {
    const routes = [{ rules: [{ matches: [] }] }, { rules: [] }]
    const model = { routes, backends: [{ name: 'a' }] } as unknown as Model
    let steps = 0
    for (const _ of freezeModel(model)) steps++
    assert.equal(steps, routes.length + model.backends.length)
    for (const part of [model, routes[0]?.rules[0], routes[1], model.backends[0]]) {
      assert.ok(Object.isFrozen(part))
    }
  })
})

describe('redaction', () => {
  it('replaces the text of secrets and keeps their source', () => {
    const shown = redact({
      key: { file: '/key.pem', secret: 'abc' },
      list: [{ secret: 'x' }],
      ref: { secretRef: '/key.pem', version: '0f' },
      n: 1,
    })
    assert.deepEqual(shown, {
      key: { file: '/key.pem', secret: '(secret)' },
      list: [{ secret: '(secret)' }],
      ref: { secretRef: '/key.pem', version: '(secret)' },
      n: 1,
    })
  })

  it('replaces the values that credential headers are set to and matched with, whatever their name', () => {
    const fields = (value: string) => [
      { name: 'Authorization', value },
      { name: 'x-api-key', kind: 'exact', value },
      { name: 'Set-Cookie', value },
      { name: 'x-own', value },
    ]
    const all = {
      set: [...fields('s3cret'), { name: 'x-team', value: 'eng' }],
      http: { addRequestHeaders: { authorization: "'s3cret'", 'x-team': "'eng'" } },
      location: { name: 'authorization', prefix: 'Bearer ' },
      keys: [{ keyHash: 'sha256:s3cret', metadata: { user: 'ann' } }],
    }
    assert.deepEqual(redact(all, { headers: ['X-Own'] }), {
      set: [...fields('(secret)'), { name: 'x-team', value: 'eng' }],
      http: { addRequestHeaders: { authorization: '(secret)', 'x-team': "'eng'" } },
      location: { name: 'authorization', prefix: 'Bearer ' },
      keys: [{ keyHash: '(secret)', metadata: { user: 'ann' } }],
    })
  })

  it('replaces the values of credential environment variables wherever they occur', () => {
    const environment = { API_TOKEN: 's3cret-1', DB_PASSWORD: 's3cret-2', PORT: '8080', KEY: 'abc' }
    const texts = secretsOf(environment)
    assert.deepEqual(texts, ['s3cret-1', 's3cret-2'])
    const set = (value: string) => ({
      set: [{ name: 'x-team', value }],
      port: '8080',
      list: ['abc'],
    })
    assert.deepEqual(redact(set('Bearer s3cret-1'), { texts }), set('(secret)'))
  })

  it('removes lines of files, which may contain anything', () => {
    const finding = { code: 'PC0220', excerpt: { text: 'key: s3cret', start: 0, end: 3 } }
    assert.deepEqual(redact([finding]), [{ code: 'PC0220' }])
  })
})

describe('the difference of two Models', () => {
  const origin = { kind: 'part', file: 'a.yaml', part: 'x', field: '' } as const
  const listener = { name: 'web', origin, protocol: 'HTTP', port: 80, policies: [] } as const
  const route = (name: string, extra = {}) => ({
    name,
    origin,
    parents: [],
    hostnames: [],
    rules: [],
    policies: [],
    ...extra,
  })
  const backend = { name: 'api', origin, policies: [], kind: 'host', endpoints: [] } as const
  const before = {
    gateways: [{ name: 'default', origin, listeners: [listener], policies: [] }],
    routes: [route('a'), route('b')],
    tcpRoutes: [],
    backends: [backend],
    frontend: [],
  } as unknown as Model
  const gateway = before.gateways[0]
  const policy = { state: 'valid', kind: 'cors', value: {} }

  for (const [name, after, changes] of [
    ['nothing', before, []],
    [
      'another file',
      { ...before, routes: [route('a', { origin: { ...origin, file: 'b.yaml' } }), route('b')] },
      [],
    ],
    [
      'a route is added',
      { ...before, routes: [...before.routes, route('c')] },
      [{ noun: 'route', name: 'c', kind: 'added' }],
    ],
    [
      'a route is gone',
      { ...before, routes: [route('b')] },
      [{ noun: 'route', name: 'a', kind: 'removed' }],
    ],
    [
      'a route is different',
      { ...before, routes: [route('a', { hostnames: ['x'] }), route('b')] },
      [{ noun: 'route', name: 'a', kind: 'changed' }],
    ],
    [
      'routes in another order',
      { ...before, routes: [route('b'), route('a')] },
      [{ noun: 'route', name: 'b', kind: 'moved' }],
    ],
    [
      'a listener is different, its gateway is not',
      { ...before, gateways: [{ ...gateway, listeners: [{ ...listener, port: 81 }] }] },
      [{ noun: 'listener', name: 'default/web', kind: 'changed' }],
    ],
    [
      'a gateway has a policy, its listener is the same',
      { ...before, gateways: [{ ...gateway, policies: [policy] }] },
      [{ noun: 'gateway', name: 'default', kind: 'changed' }],
    ],
    [
      'a backend is gone',
      { ...before, backends: [] },
      [{ noun: 'backend', name: 'api', kind: 'removed' }],
    ],
    [
      'policies for all connections, and a section',
      { ...before, frontend: [policy], ui: { origin, value: {}, policies: [] } },
      [
        { noun: 'frontend', name: '', kind: 'changed' },
        { noun: 'ui', name: '', kind: 'added' },
      ],
    ],
  ] as readonly [string, Model, readonly Change[]][]) {
    it(name, () => assert.deepEqual(diffModels(before, after), changes))
  }
})

describe('reconciling a Model with the previous one', () => {
  const route = (name: string, index = 1, value: unknown = { a: [1] }) => ({
    name,
    origin: { kind: 'part', file: 'x', part: 'routes', field: `[${index}]` },
    policies: [{ value }],
  })
  const listener = (name: string, port = 1) => ({ name, port, policies: [] })
  const model = (own: object) =>
    ({
      gateways: [{ name: 'g', policies: [], listeners: [listener('a'), listener('b')] }],
      routes: [route('a'), route('b'), route('c')],
      tcpRoutes: [],
      backends: [],
      frontend: [],
      ...own,
    }) as unknown as Model
  const after = (before: Model, now: Model) => runToCompletion(reconcile(before, now))
  const before = model({})

  it('returns the previous one if nothing changed', () => {
    assert.equal(after(before, model({})), before)
    assert.equal(after(before, model({ llm: undefined })), before)
  })

  for (const [what, routes, same] of [
    ['changed', [route('a'), route('b', 1, { a: [2] }), route('c')], [0, -1, 2]],
    ['of another part', [route('a'), route('b', 2), route('c')], [0, -1, 2]],
    ['added', [route('n'), route('a'), route('b'), route('c')], [-1, 0, 1, 2]],
    ['removed', [route('a'), route('c')], [0, 2]],
    ['put elsewhere', [route('c'), route('a'), route('b')], [2, 0, 1]],
    ['with a field more', [route('a'), { ...route('b'), more: 1 }, route('c')], [0, -1, 2]],
    ['with a field less', [route('a'), { name: 'b', policies: [] }, route('c')], [0, -1, 2]],
    ['with a list for an object', [route('a', 1, []), route('b', 1, {}), route('c')], [-1, -1, 2]],
  ] as const) {
    it(`has the other routes where one is ${what}`, () => {
      const now = model({ routes })
      const made = after(before, now)
      assert.deepEqual(made, now)
      assert.deepEqual(
        made.routes.map((one) => before.routes.indexOf(one)),
        same,
      )
    })
  }

  it('keeps the unchanged listeners of a gateway', () => {
    const listeners = [listener('a', 2), listener('b')]
    const made = after(before, model({ gateways: [{ name: 'g', policies: [], listeners }] }))
    assert.deepEqual(made.gateways[0]?.listeners, listeners)
    assert.equal(made.gateways[0]?.listeners[1], before.gateways[0]?.listeners[1])
    assert.equal(made.gateways[0]?.policies, before.gateways[0]?.policies)
  })

  it('drops removed parts', () => {
    const known = model({ llm: { value: {} } })
    assert.deepEqual(after(known, before), before)
    assert.equal('llm' in after(known, before), false)
  })
})
