import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { BOOL } from '../../cel/check/types.ts'
import { compile, STAGES, type Value } from '../../cel/index.ts'
import { type Cidr, parseCidr } from '../../cel/values/cidr.ts'
import { parseIp } from '../../cel/values/ip.ts'
import { normalisePath } from '../../wire/http1/path.ts'
import { addressesFor } from './addresses.ts'
import type { Facts } from './attribute-tree.ts'
import { NOT_TRUE, type Outcomes, TRUE } from './outcome.ts'
import { solve } from './solve.ts'
import { type Condition, type Mode, Space } from './space.ts'
import { domainOf, isInDomain } from './text-domains.ts'
import { type World, worldOf } from './world.ts'

function conditionOf(text: string): Condition {
  const { expression, diagnostics } = compile(text, STAGES.traffic, { expect: BOOL })
  assert.ok(expression, `${text}: ${diagnostics[0]?.message}`)
  return { text, term: expression.term }
}

function ask(
  wanted: readonly (readonly [text: string, outcomes: Outcomes])[],
  mode: Mode = 'proof',
  facts: Facts = new Map(),
) {
  const space = new Space(STAGES.traffic, facts, mode)
  const conditions = wanted.map(([text, outcomes]) => [conditionOf(text), outcomes] as const)
  for (const [condition] of conditions) space.learn(condition)
  const formulas = conditions.map(([condition, outcomes]) => space.formula(condition, outcomes))
  return solve([...formulas, ...space.axioms])
}

const isTrue = (text: string, world: World) =>
  compile(text, STAGES.traffic).expression?.predicate()(world) === true

describe('list members in an example', () => {
  for (const number of ['1u', '1.0', '1', '9007199254740993u']) {
    it(`is ${number} as JSON has it`, () => {
      const whole = number.replace(/u$|\.0$/, '')
      const texts = [`${number} in jwt.a`, `jwt.a.all(k, k == ${whole} || k == 'a')`]
      const found = ask(texts.map((text) => [text, TRUE] as const))
      assert.ok(found.kind === 'possible')
      const world = worldOf(found.assignment)
      for (const text of texts) assert.ok(isTrue(text, world), text)
    })
  }
})

describe('whether all of these can be true at once', () => {
  for (const [texts, expected] of [
    [["jwt.sub == 'a'", "jwt.sub == 'b'"], false],
    [["jwt.sub == 'a'", "jwt.group == 'b'"], true],
    [["jwt.sub == 'a'", '!has(jwt.sub)'], false],
    [['!has(jwt.sub)', '!has(jwt.sub)'], true],
    [["jwt.sub != 'a'", "jwt.sub in ['a']"], false],
    [["'a' in jwt.g", "'b' in jwt.g", 'size(jwt.g) > 0'], true],
    [["'a' in jwt.g", "'b' in jwt.g", "'c' in jwt.g", 'size(jwt.g) > 1'], true],
    [["'a' in jwt.g", "'b' in jwt.g", 'size(jwt.g) < 2'], false],
    [["'a' in jwt.g", "jwt.g.all(g, g == 'a')", 'size(jwt.g) > 2'], true],
    [["jwt.g.all(g, g == 'a')", 'size(jwt.g) > 0', "!('a' in jwt.g)"], false],
    [["jwt.g == ['a']", "jwt.g.all(g, g != 'a')"], false],
    [["jwt.g == ['a']", 'size(jwt.g) != 1'], false],
    [['has(jwt.g.a)', 'has(jwt.g.b)', 'size(jwt.g) == 1'], false],
    [["jwt.g.all(g, g == 'a')", 'has(jwt.g.a)', 'size(jwt.g) > 1'], false],
    // One element that equals both: as doubles, they are the same.
    [['9007199254740993 in jwt.g', '9007199254740992.0 in jwt.g', 'size(jwt.g) == 1'], true],
    [['9007199254740993 in jwt.g', 'jwt.g.all(g, g == 9007199254740992.0)'], true],
    [["request.path.startsWith('/a')", "request.path == '/b'"], false],
    [["request.path.startsWith('/a')", "!request.path.startsWith('/a/b')"], true],
    [["request.path.startsWith('/a/b')", "!request.path.startsWith('/a')"], false],
    [["source.subjectCn == ''"], false],
    [["source.subjectCn.startsWith('')"], true],
    [["request.path == 'a'"], false],
    [["request.path.startsWith('/a/../')"], false],
    [["request.path.startsWith('/%')"], true],
    [["cidr('10.0.0.0/8').containsIP(source.address)", "source.address == '10.1.2.3'"], true],
    [["cidr('10.0.0.0/8').containsIP(source.address)", "source.address == '11.1.2.3'"], false],
    [
      [
        "cidr('10.0.0.0/31').containsIP(source.address)",
        "source.address != '10.0.0.0'",
        "source.address != '10.0.0.1'",
      ],
      false,
    ],
    [["'a' in jwt.groups", "!('b' in jwt.groups)"], true],
    [["'a' in jwt.groups", "!jwt.groups.exists(g, g in ['a', 'b'])"], false],
    [["'a' in jwt.groups", "jwt.groups == 'a'"], false],
    [['has(jwt.realm.role)', "jwt.realm == 'x'"], false],
    [['has(jwt.realm.role)', '!has(jwt.realm)'], false],
    [['jwt.level > 3', 'jwt.level < 4'], true],
    [['source.port > 3', 'source.port < 4'], false],
    [['jwt.admin', "jwt.admin == 'yes'"], false],
    [["jwt.sub.matches('x')", '!has(jwt.sub)'], false],
    [["jwt.sub.matches('x')", "!jwt.sub.matches('x')"], false],
    [["jwt.sub.matches('x')", "jwt.sub.contains('y')"], true],
    [['size(request.path) > 5', '!(size(request.path) > 6)'], true],
    [['size(request.path) > 5', '!(size(request.path) > 5)'], false],
    [["request.path.matches('a')", "!request.path.matches('b')"], true],
    [["jwt.groups.all(g, g == 'a')", "!jwt.groups.all(h, h == 'a')"], false],
    [["jwt.groups.all(g, g == 'a')", "!jwt.groups.all(g, g == 'b')"], true],
    [["request.headers['X-A'] == '1'", "request.headers['x-a'] == '2'"], false],
    [["request.headers['x-a'] == ' 1'"], false],
    [["jwt.sub == 'a' ? request.method == 'GET' : false", "request.method == 'PUT'"], false],
  ] as const) {
    it(`${texts.join('  and  ')}: ${expected ? 'yes' : 'no'}`, () => {
      const { kind } = ask(texts.map((text) => [text, TRUE]))
      assert.equal(kind, expected ? 'possible' : 'impossible')
    })
  }

  it('uses the facts about the place', () => {
    const unset: Facts = new Map([['jwt', { kind: 'unset' }]])
    assert.equal(ask([["jwt.sub != 'a'", TRUE]], 'proof', unset).kind, 'impossible')
    assert.equal(ask([["jwt.sub.matches('a')", TRUE]], 'proof', unset).kind, 'impossible')
    assert.equal(ask([["jwt.sub != 'a'", NOT_TRUE]], 'proof', unset).kind, 'possible')
    const values: Facts = new Map([
      ['request.scheme', { kind: 'values', values: ['http'], isSet: true }],
    ])
    assert.equal(ask([["request.scheme == 'https'", TRUE]], 'proof', values).kind, 'impossible')
  })
})

const ATOMS = [
  "jwt.sub == 'a'",
  "jwt.sub in ['a', 'b']",
  "jwt.sub != 'b'",
  "jwt.sub.startsWith('a')",
  'has(jwt.sub)',
  'has(jwt.realm)',
  "jwt.realm.role == 'x'",
  'has(jwt.realm.role)',
  "jwt.realm == 'x'",
  "'a' in jwt.groups",
  "jwt.groups.exists(g, g in ['a', 'b'])",
  "jwt.groups == 'a'",
  'jwt.admin',
  'jwt.level >= 2',
  'jwt.level == 2',
  "request.method == 'GET'",
  "request.path == '/a'",
  "request.path.startsWith('/a')",
  "request.path.startsWith('/a/')",
  "request.headers['x'] == '1'",
  "request.headers['x'] != '1'",
  "'x' in request.headers",
  "cidr('10.0.0.0/8').containsIP(source.address)",
  "cidr('10.1.0.0/16').containsIP(source.address)",
  "source.address == '10.1.0.7'",
  'true',
  'size(request.path) > 2',
  'size(request.path) > 3',
  "request.path.endsWith('a')",
  "jwt.sub.matches('^a$')",
  "jwt.sub == request.headers['x']",
  "jwt.groups.all(g, g == 'a')",
]
/** Conditions that cannot be analyzed. */
const OPAQUE = /size|endsWith|matches|== request|\.all/

const expression = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(...ATOMS),
    tie('any').map((inner) => `!(${inner})`),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} || ${b})`),
    fc
      .tuple(tie('any'), tie('any'), tie('any'))
      .map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
  ),
})).any

const text = fc.constantFrom('a', 'b', 'ab', 'c', 'x', '')
const odd = fc.oneof(text, fc.constantFrom<Value>(null, true, false, 1, 2, 2.5, 3), fc.constant([]))
const claims = fc.record(
  {
    sub: odd,
    admin: odd,
    level: odd,
    realm: fc.oneof(odd, fc.record({ role: odd }, { requiredKeys: [] })),
    groups: fc.oneof(odd, fc.array(text, { maxLength: 3 })),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Value>
const world = fc
  .record({
    jwt: fc.option(claims, { nil: undefined }),
    method: fc.constantFrom('GET', 'POST'),
    path: fc.constantFrom('/', '/a', '/ab', '/a/', '/a/b', '/b'),
    headers: fc.record({ x: fc.constantFrom('1', '2', '') }, { requiredKeys: [] }),
    address: fc.constantFrom('10.0.0.1', '10.1.0.7', '10.1.0.8', '192.0.2.1', '2001:db8::1'),
  })
  .map(({ jwt, method, path, headers, address }): World => {
    const source = { address: parseIp(address) as Value, port: 1 }
    const own = { request: { method, path, headers: headers as Value }, source }
    return jwt === undefined ? own : { ...own, jwt }
  })

/** Adds what every request has, for attributes that no condition tests. */
function complete({ jwt, request, source }: World): World {
  const defaults = { method: 'GET', path: '/', headers: {} }
  const own = {
    request: { ...defaults, ...(request as World) },
    source: { address: parseIp('192.0.2.1') as Value, ...(source as World) },
  }
  return jwt === undefined ? own : { ...own, jwt }
}

describe('the symbolic engine agrees with the evaluator', () => {
  it('rules out only impossible requests, and finds only matching ones', () => {
    const property = fc.property(
      expression,
      expression,
      fc.array(world, { minLength: 20, maxLength: 20 }),
      (a, b, worlds) => {
        const wanted = [[a, TRUE] as const, [b, NOT_TRUE] as const]
        const proven = ask(wanted)
        const found = ask(wanted, 'search')
        const isExact = !OPAQUE.test(a + b)
        if (isExact) assert.equal(found.kind, proven.kind)
        const does = (one: World) => isTrue(a, one) && !isTrue(b, one)
        if (proven.kind === 'impossible') assert.ok(!worlds.some(does))
        if (found.kind === 'possible' && isExact)
          assert.ok(does(complete(worldOf(found.assignment))))
      },
    )
    fc.assert(property, fuzz(0.3))
  })

  it('finds an address for every combination of ranges', () => {
    const range = fc
      .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 24, max: 32 }))
      .map(([last, length]) => parseCidr(`192.0.2.${last}/${length}`) as Cidr)
    const property = fc.property(fc.array(range, { maxLength: 6 }), (ranges) => {
      const shape = (text: string) =>
        ranges.map((one) => Number(one.containsIp(parseIp(text) as never))).join('')
      const offered = new Set(addressesFor(ranges).map((ip) => shape(ip.text)))
      for (let last = 0; last < 256; last++) assert.ok(offered.has(shape(`192.0.2.${last}`)))
    })
    fc.assert(property, fuzz(0.1))
  })

  const PATHS = domainOf(['request', 'path'])
  it('considers only paths that a request can have', () => {
    const piece = fc.constantFrom(
      '/',
      'a',
      '.',
      '..',
      '%2F',
      '%41',
      '%C3',
      '%c3',
      '%',
      ' ',
      '\\',
      ';',
    )
    const property = fc.property(
      fc.oneof(
        fc.array(piece).map((all) => `/${all.join('')}`),
        fc.string(),
      ),
      (path) => assert.equal(isInDomain(path, PATHS), normalisePath(path, true) === path),
    )
    // `OPTIONS *` is rejected.
    assert.equal(isInDomain('*', PATHS), false)
    fc.assert(property, fuzz(1))
  })
})
