import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { send, watchUnauthorized } from '../../ui/src/api/client.ts'
import type { Decision } from '../../ui/src/api/shapes.ts'
import { changesIn } from '../../ui/src/config/changes-in.ts'
import { testFileOf } from '../../ui/src/decisions/test-file.ts'
import { lineDiff } from '../../ui/src/history/line-diff.ts'
import { chartOf, totalOf } from '../../ui/src/llm/usage-series.ts'
import { timeWords } from '../../ui/src/parts/time-words.ts'
import { fieldName } from '../../ui/src/policies/field-name.ts'
import { ruleBlocks, withRules } from '../../ui/src/policies/rule-blocks.ts'
import { readClaims } from '../../ui/src/sandbox/request.ts'

const allow = (expression: string) => ({ action: 'Allow', expression }) as const

describe('names of fields', () => {
  for (const [pointer, name] of [
    ['', ''],
    ['/hostnames', 'hostnames'],
    ['/policies/authorization/rules/0', 'policies.authorization.rules[0]'],
    ['/a~1b/c~0d', 'a/b.c~d'],
  ] as const) {
    it(`of \`${pointer}\` is \`${name}\``, () => assert.equal(fieldName(pointer), name))
  }
})

describe('rules within a resource', () => {
  const route = {
    name: 'api',
    policies: {
      authorization: { action: 'Deny', policy: { matchExpressions: ['a', 'b'] }, mode: 'Audit' },
      cors: { origins: ['x'] },
    },
    backends: [{ host: 'x:1' }, { host: 'y:1', policies: { authorization: { rules: ['c'] } } }],
  }

  it('are found at every depth, with the stage at which they run', () => {
    assert.deepEqual(
      ruleBlocks('routes', route).map(({ path, stage, mode }) => [path.join('.'), stage, mode]),
      [
        ['policies.authorization', 'traffic', 'Audit'],
        ['backends.1.policies.authorization', 'backend', 'Enforce'],
      ],
    )
    const stageOf = (kind: string, value: unknown) => ruleBlocks(kind, value)[0]?.stage
    const block = { rules: [{ deny: 'a' }] }
    assert.equal(stageOf('backends', { policies: { authorization: block } }), 'backend')
    assert.equal(stageOf('mcp', { policies: { mcpAuthorization: block } }), 'mcp')
    assert.equal(stageOf('frontendPolicies', { networkAuthorization: block }), 'connection')
    assert.equal(stageOf('llm', { models: [{ authorization: block }] }), 'backend')
  })

  it('are replaced without changing anything else', () => {
    const [first, second] = ruleBlocks('routes', route)
    assert.ok(first !== undefined && second !== undefined)
    const changed = withRules(route, second.path, [allow('d')], 'Enforce')
    assert.deepEqual(changed, {
      ...route,
      backends: [
        { host: 'x:1' },
        { host: 'y:1', policies: { authorization: { rules: [{ allow: 'd' }] } } },
      ],
    })
    const same = withRules(route, first.path, first.rules, first.mode)
    assert.deepEqual(ruleBlocks('routes', same)[0], first)
    assert.deepEqual(route.policies.authorization.policy.matchExpressions, ['a', 'b'])
  })
})

describe('a difference of lines', () => {
  it('reproduces both texts, whatever they are', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', '', ' a'), { maxLength: 12 })
      .map((lines) => lines.map((line) => `${line}\n`).join(''))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after)
        const side = (sign: string) =>
          lines.filter((line) => line.sign !== sign).map((line) => `${line.text}\n`)
        assert.equal(side('+').join(''), before)
        assert.equal(side('-').join(''), after)
        if (before === after) assert.ok(lines.every(({ sign }) => sign === ' '))
      }),
    )
  })
})

describe('an edited configuration', () => {
  const etags = [
    { kind: 'routes', id: 'a', etag: '"1"' },
    { kind: 'routes', id: 'b', etag: '"2"' },
  ].map((one) => ({ ...one, isHidden: false })) as never

  it('becomes changes of the resources that differ', () => {
    const before = 'routes: [{ name: a, x: 1 }, { name: b }]\nconfig: { workers: 1 }'
    const after = 'routes: [{ name: a, x: 2 }, { name: c }]\nconfig: { workers: 2 }'
    assert.deepEqual(changesIn(before, after, etags), [
      { action: 'set', kind: 'routes', id: 'a', value: { name: 'a', x: 2 }, ifMatch: '"1"' },
      { action: 'set', kind: 'routes', id: 'c', value: { name: 'c' }, ifMatch: 'none' },
      { action: 'delete', kind: 'routes', id: 'b', ifMatch: '"2"' },
    ])
    assert.deepEqual(changesIn(before, `# same\n${before}`, etags), [])
  })
})

describe('pasted claims', () => {
  const jwt = (payload: string) => `e30.${Buffer.from(payload).toString('base64url')}.sig`
  for (const [what, text, expected] of [
    ['nothing', '  ', undefined],
    ['JSON', '{"a": 1}', { a: 1 }],
    ['a JWT', jwt('{"n":"Zoë ☃"}'), { n: 'Zoë ☃' }],
    ['a header', `Bearer ${jwt('{"a":1}')}`, { a: 1 }],
  ] as const) {
    it(`as ${what} are read`, () => assert.deepEqual(readClaims(text), expected))
  }
  for (const text of ['x', 'a.b', 'a.b.c', jwt('[1]'), jwt('"x"'), '{', '[1]', 'null']) {
    it(`as ${text} are rejected`, () => assert.equal(typeof readClaims(text), 'string'))
  }
})

describe('a test of a decision', () => {
  it('is YAML that means what was recorded, whatever clients sent', () => {
    const hostile = 'a: b\n- c # "\'\u0000\u2028'
    const decision: Decision = {
      id: '1',
      time: '',
      kind: 'authorization',
      stage: 'traffic',
      verdict: 'denied',
      enforced: true,
      cause: 'false',
      gateway: 'g',
      status: 403,
      method: 'GET',
      source: '[::1]:1',
      path: `/${hostile}`,
      host: hostile,
      attributes: [
        { name: "request.headers['x-a']", state: 'shown', value: hostile },
        { name: 'jwt.sub', state: 'shown', value: 'alice' },
        { name: "request.headers['authorization']\n  evil: 1", state: 'redacted' },
      ],
    }
    const { requests } = parse(testFileOf([decision]) ?? '') as { requests: readonly object[] }
    assert.deepEqual(requests, [
      {
        listener: 'g',
        method: 'GET',
        path: `/${hostile}`,
        host: hostile,
        from: '::1',
        headers: { 'x-a': hostile },
        as: { sub: 'alice' },
        expect: { status: 403, because: 'is false', stage: 'traffic' },
      },
    ])
  })
})

describe('requests of the UI', () => {
  it('an aborted request does not ask the user to sign in', async (context) => {
    const gone = new AbortController()
    context.mock.method(globalThis, 'fetch', async () => {
      // The response head has arrived, and the page goes away before the body does.
      const body = new ReadableStream({
        start: (stream) => gone.signal.addEventListener('abort', () => stream.error('aborted')),
      })
      return new Response(body, { status: 401 })
    })
    Object.assign(globalThis, { sessionStorage: { getItem: () => null } })
    const told: unknown[] = []
    watchUnauthorized((login) => told.push(login))
    const sent = send('/api/session', { signal: gone.signal })
    setImmediate(() => gone.abort())
    await assert.rejects(sent)
    assert.deepEqual(told, [])
  })
})

describe('usage over time', () => {
  const since = '2026-11-16T12:00:30.000Z'
  const point = (minute: number, model: string, tokens: number) => ({
    time: new Date(Date.UTC(2026, 10, 16, 12, minute)).toISOString(),
    ...{
      provider: 'p',
      model,
      requests: 1,
      inputTokens: tokens,
      outputTokens: 1,
      cost: tokens / 8,
    },
  })
  const usage = (points: readonly ReturnType<typeof point>[]) =>
    ({ from: 'memory', since, step: 60, points }) as const

  it('has a value for each step, and loses none', () => {
    const now = Date.UTC(2026, 10, 16, 12, 3)
    const points = [point(0, 'a', 1), point(2, 'a', 3), point(2, 'b', 9), point(2, 'a', 1)]
    const { names, rows } = chartOf(usage(points), 'tokens', now)
    assert.deepEqual(names, ['b', 'a'])
    const first = Date.UTC(2026, 10, 16, 12) / 1000
    assert.deepEqual(rows, [
      [first, first + 60, first + 120, first + 180],
      [0, 0, 10, 0],
      [2, 0, 6, 0],
    ])
    assert.equal(totalOf(usage(points), 'tokens'), 18)
    assert.equal(totalOf(usage(points), 'cost'), 14 / 8)
  })

  it('shows the models that used most, and the sum of the others', () => {
    const now = Date.UTC(2026, 10, 16, 12, 1)
    const points = Array.from({ length: 8 }, (_, nth) => point(0, `m${nth}`, nth))
    const { names, rows } = chartOf(usage(points), 'tokens', now)
    assert.deepEqual(names, ['m7', 'm6', 'm5', 'm4', 'm3', 'all others'])
    assert.deepEqual(rows.at(-1), [6, 0])
    assert.deepEqual(chartOf(usage([]), 'cost', now).rows.length, 1)
  })
})

describe('times in lists', () => {
  it('have milliseconds, and a date unless they are of today', () => {
    const now = new Date(2026, 1, 3, 12)
    const today = timeWords(new Date(2026, 1, 3, 4, 5, 6, 78), now)
    assert.match(today, /04:05:06[.,]078/)
    const before = timeWords(new Date(2026, 1, 2, 4, 5, 6, 78), now)
    assert.ok(before.endsWith(today) && before.length > today.length, before)
  })
})
