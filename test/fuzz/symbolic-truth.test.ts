import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { NOT_TRUE, TRUE } from '../../src/analysis/symbolic/outcome.ts'
import { solve } from '../../src/analysis/symbolic/solve.ts'
import { type Condition, Space } from '../../src/analysis/symbolic/space.ts'
import { worldOf } from '../../src/analysis/symbolic/world.ts'
import { BOOL } from '../../src/cel/check/types.ts'
import { compile, type Expression, STAGES } from '../../src/cel/index.ts'
import { parseIp } from '../../src/cel/values/ip.ts'
import type { JsonObject, Value } from '../../src/cel/values/value.ts'
import { normalisePath } from '../../src/wire/http1/path.ts'
import { areSizesUsual } from '../thresholds/sizes.ts'
import { assertProperty } from './assert-property.ts'
import { claimValues, nearText } from './claim-values.ts'
import { fuzz } from './runs.ts'

/**
 * A result that the symbolic engine calls impossible never occurs. Conditions with random
 * constants, about claims of all types and about the request, are evaluated by the gateway's own
 * compiled functions over values at, next to and between these constants. The conditions are drawn
 * from what users write, not from what the engine supports.
 */

const ATTRIBUTES = ['jwt.a', 'jwt.a.b', 'jwt.o', 'jwt.o.x', 'jwt.o.x.y', "jwt['o']['zz']"]
const TEXTS = ['request.path', 'request.host', 'request.method', "request.headers['x']"]
const text = fc.constantFrom("'a'", "'ab'", "'b'", "'x'", "'y'", "''", "'ba'", "'/a'", "'.b'")
const number = fc.constantFrom(
  '0',
  '1',
  '2',
  '7',
  '-1',
  '0.5',
  '0.9',
  '1.0',
  '1u',
  '6.5',
  '1e300',
  '1.1e300',
  '9007199254740992',
  '9007199254740993',
  '9007199254740993.0',
  '9223372036854775807',
)
const constant = fc.oneof(text, number, fc.constantFrom('true', 'false', 'null'))
const choice = fc.array(constant, { maxLength: 3 }).map((all) => `[${all.join(', ')}]`)

const claim = fc.constantFrom(...ATTRIBUTES)
const subject = fc.oneof(claim, fc.constantFrom(...TEXTS))
const order = fc.constantFrom('<', '<=', '>', '>=')
const pattern = fc.constantFrom(
  '^a',
  'b$',
  '^(a|ab)$',
  'a.*b',
  '^[^a]*$',
  '^/a(/|$)',
  '^/[a-z]+$',
  '(?i)^AB',
  'a{2,3}',
  '^$',
  'xb?y',
  '.b',
)
const call = fc.constantFrom('startsWith', 'endsWith', 'contains')

/** Conditions on all elements of a list or an object, and on their number. */
function ofContents(whole: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const macro = fc.constantFrom('all', 'all', 'exists')
  const sign = fc.constantFrom('==', '!=')
  const body = fc.oneof(
    fc.tuple(sign, constant).map(([own, value]) => `k ${own} ${value}`),
    choice.map((list) => `k in ${list}`),
    choice.map((list) => `!(k in ${list})`),
    fc.tuple(constant, constant).map(([a, b]) => `k == ${a} || k == ${b}`),
    fc.tuple(sign, constant, sign, text).map(([x, a, y, b]) => `k ${x} ${a} && k ${y} ${b}`),
  )
  const few = fc.constantFrom('0', '1', '2', '3')
  return fc.oneof(
    fc.tuple(whole, macro, body).map(([one, name, own]) => `${one}.${name}(k, ${own})`),
    fc.tuple(whole, fc.oneof(order, sign), few).map(([one, own, n]) => `size(${one}) ${own} ${n}`),
    fc.tuple(whole, sign, constant).map(([one, own, value]) => `${one} ${own} [${value}]`),
    fc.tuple(whole, sign, choice).map(([one, own, list]) => `${one} ${own} ${list}`),
    fc.tuple(constant, whole).map(([one, own]) => `${one} in ${own}`),
    fc
      .tuple(whole, fc.constantFrom(' ', ',', 'a'), text)
      .map(([one, by, value]) => `${one}.split('${by}').exists(k, k == ${value})`),
  )
}

const atom = fc.oneof(
  claim,
  claim.map((one) => `has(${one.replace("['o']['zz']", '.o.zz')})`),
  fc.tuple(claim, fc.constantFrom('==', '!='), constant).map((all) => all.join(' ')),
  fc
    .tuple(fc.constantFrom(...TEXTS), fc.constantFrom('==', '!='), text)
    .map((all) => all.join(' ')),
  fc.tuple(claim, order, number).map((all) => all.join(' ')),
  fc.tuple(number, order, claim).map((all) => all.join(' ')),
  fc.tuple(claim, choice).map(([one, list]) => `${one} in ${list}`),
  fc.tuple(constant, claim).map(([one, whole]) => `${one} in ${whole}`),
  fc.tuple(claim, constant).map(([one, value]) => `${one}.exists(k, k == ${value})`),
  fc.tuple(claim, choice).map(([one, list]) => `${one}.exists(k, k in ${list})`),
  fc.tuple(claim, text).map(([one, value]) => `${one}.all(k, k != ${value})`),
  ofContents(claim),
  fc.tuple(subject, call, text).map(([one, name, part]) => `${one}.${name}(${part})`),
  fc.tuple(subject, pattern).map(([one, own]) => `${one}.matches('${own}')`),
  fc.tuple(text, fc.constantFrom('jwt', 'request.headers')).map((all) => all.join(' in ')),
  text.map((one) => `jwt.exists(k, k == ${one})`),
  fc.tuple(claim, order, text).map((all) => all.join(' ')),
  fc.tuple(subject, order, number).map(([one, sign, size]) => `size(${one}) ${sign} ${size}`),
  fc.constantFrom(
    'jwt.a == jwt.o',
    'jwt.a in jwt.o',
    'source.port > 0',
    'source.port == 80',
    "request.path.startsWith('/')",
    "request.host == ''",
    "source.address == '10.1.0.7'",
    "cidr('10.0.0.0/8').containsIP(source.address)",
    "jwt.a == ip('10.0.0.1')",
    'type(jwt.a) == int',
    "jwt.o.?x.orValue('') == 'a'",
  ),
)
const expression = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 3, arbitrary: atom },
    { weight: 1, arbitrary: tie('any').map((inner) => `!(${inner})`) },
    { weight: 2, arbitrary: fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} && ${b})`) },
    { weight: 1, arbitrary: fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} || ${b})`) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie('any'), tie('any'), tie('any'))
        .map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
    },
  ),
})).any

function worldsFor(texts: readonly string[]): fc.Arbitrary<JsonObject> {
  const value = claimValues(texts)
  const written = texts.flatMap((one) => [...one.matchAll(/'([^']*)'/g)].map(([, own = '']) => own))
  const near = nearText(written)
  const object = fc.dictionary(fc.constantFrom('x', 'zz', 'b', 'ab'), value, {
    maxKeys: 3,
    noNullPrototype: true,
  })
  const claims = fc.record(
    { a: fc.oneof(value, object), o: fc.oneof(value, object), x: value, ab: value },
    { requiredKeys: [] },
  )
  return fc
    .record({
      jwt: fc.option(claims, { nil: undefined, freq: 8 }),
      path: near.map((one) => {
        const path = normalisePath(`/${one}`)
        return typeof path === 'string' ? path : '/'
      }),
      host: near.filter((one) => /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)?$/.test(one)),
      method: near.map((one) => one.toUpperCase()).filter((one) => /^[A-Z]+$/.test(one)),
      header: fc.option(
        near.map((one) => one.trim()),
        { nil: undefined },
      ),
      port: fc.constantFrom(0, 1, 79, 80, 81, 65_535),
      address: fc.constantFrom('10.0.0.1', '10.1.0.7', '192.0.2.1', '2001:db8::1'),
    })
    .map(({ jwt, path, host, method, header, port, address }) => {
      const headers = header === undefined ? {} : { x: header }
      const request = { path, host, method, headers, query: '', scheme: 'http' }
      const source = { address: parseIp(address) as Value, port }
      const world = { request, source, destination: {}, proxy: {} }
      return (jwt === undefined ? world : { ...world, jwt }) as unknown as JsonObject
    })
}

/**
 * Lists with duplicates and elements of all types, objects with the same names, and other values.
 */
function listsFor(texts: readonly string[]): fc.Arbitrary<Value> {
  const written = texts.flatMap((one) => [...one.matchAll(/'([^']*)'/g)].map(([, own = '']) => own))
  const any = claimValues(texts)
  const named = fc.constantFrom<Value>(...written, '', 'q', 0, 1, 2, 7, 0.5, 1, true, false, null)
  const element = fc.oneof({ weight: 4, arbitrary: named }, { weight: 1, arbitrary: any })
  const list = fc.array(element, { maxLength: 4 })
  const twice = fc
    .tuple(element, fc.integer({ min: 1, max: 5 }), list)
    .map(([one, times, rest]) => {
      return [...Array.from({ length: times }, () => one), ...rest].slice(0, 6) as Value
    })
  const name = fc.constantFrom(...written, 'q', 'r', '')
  const object = fc.dictionary(name, any, { maxKeys: 5, noNullPrototype: true })
  const words = fc.array(fc.constantFrom(...written, 'q', ''), { maxLength: 4 })
  return fc.oneof(
    any,
    list,
    twice,
    object as fc.Arbitrary<Value>,
    fc.tuple(words, fc.constantFrom(' ', ',', 'a')).map(([own, by]) => own.join(by)),
  )
}

function compiled(text: string): Expression | undefined {
  return compile(text, STAGES.traffic, { expect: BOOL }).expression
}

function ask(wanted: readonly (readonly [Condition, number])[]) {
  const space = new Space(STAGES.traffic, new Map(), 'proof')
  for (const [condition] of wanted) space.learn(condition)
  const formulas = wanted.map(([condition, outcomes]) => space.formula(condition, outcomes))
  const { isExact } = space
  return { ...solve([...formulas, ...space.axioms]), isExact }
}

/** Adds the attributes that every request has, unless the world sets them. */
function complete(world: JsonObject): JsonObject {
  const { request, source, ...rest } = world as Readonly<Record<string, JsonObject>>
  const defaults = { method: 'GET', path: '/', host: 'a.test', headers: {}, query: '' }
  const from = { address: parseIp('192.0.2.1') as Value, port: 1 }
  return { ...rest, request: { ...defaults, ...request }, source: { ...from, ...source } }
}

describe('conclusions of the symbolic engine about conditions', () => {
  it('what is impossible never occurs, and every example it finds is correct', () => {
    let [impossible, exact, all] = [0, 0, 0]
    const pair = fc.tuple(expression, expression).filter((texts) => texts.every(compiled))
    const property = fc.property(
      pair.chain((texts) =>
        fc.tuple(fc.constant(texts), fc.array(worldsFor(texts), { minLength: 60, maxLength: 60 })),
      ),
      ([[a, b], worlds]) => {
        const [one, other] = [compiled(a), compiled(b)] as [Expression, Expression]
        const conditions = [one, other].map(({ term }, at) => ({
          text: [a, b][at] as string,
          term,
        }))
        const [first, second] = conditions as [Condition, Condition]
        const [isFirst, isSecond] = [one.predicate(), other.predicate()]
        for (const outcomes of [TRUE, NOT_TRUE]) {
          const found = ask([
            [first, TRUE],
            [second, outcomes],
          ])
          const does = (world: JsonObject) =>
            isFirst(world) && isSecond(world) === (outcomes === TRUE)
          const said = `${a}; ${outcomes === TRUE ? '' : 'not '}${b}`
          all++
          if (found.isExact) exact++
          if (found.kind === 'impossible') {
            impossible++
            const seen = worlds.find(does)
            assert.equal(seen, undefined, `${said}: ${fc.stringify(seen)}`)
          } else if (found.kind === 'possible' && found.isExact) {
            const world = complete(worldOf(found.assignment))
            assert.ok(does(world), `${said}: ${fc.stringify(world)}`)
          }
        }
      },
    )
    assertProperty('symbolic-conditions', property, fuzz(0.4, 120))
    assert.ok(impossible > all / 100 && exact > all / 8, `${impossible}, ${exact} of ${all}`)
  })

  it('the same holds for everything in a single claim', () => {
    const own = ofContents(fc.constant('jwt.a'))
    const few = fc.array(own, { minLength: 1, maxLength: 4 }).filter((all) => all.every(compiled))
    const cases = few.chain((texts) =>
      fc.tuple(fc.constant(texts), fc.array(listsFor(texts), { minLength: 80, maxLength: 80 })),
    )
    let [impossible, exact, all] = [0, 0, 0]
    const property = fc.property(cases, fc.nat(), ([texts, values], signs) => {
      const wanted = texts.map((text, at) => {
        const expression = compiled(text) as Expression
        const isTrue = ((signs >> at) & 1) === 1
        const test = expression.predicate()
        const holds = (world: JsonObject) => test(world) === isTrue
        const { term } = expression
        return { asked: [{ text, term }, isTrue ? TRUE : NOT_TRUE] as const, holds, isTrue, text }
      })
      const said = wanted.map(({ isTrue, text }) => `${isTrue ? '' : 'not '}${text}`).join('; ')
      const does = (world: JsonObject) => wanted.every(({ holds }) => holds(world))
      const found = ask(wanted.map(({ asked }) => asked))
      all++
      if (found.isExact) exact++
      if (found.kind === 'impossible') {
        impossible++
        const seen = values.find((a) => does(complete({ jwt: { a } })))
        assert.equal(seen, undefined, `${said}: ${fc.stringify(seen)}`)
      } else if (found.kind === 'possible' && found.isExact) {
        const world = complete(worldOf(found.assignment))
        assert.ok(does(world), `${said}: ${fc.stringify(world)}`)
      }
    })
    assertProperty('symbolic-claims', property, fuzz(2))
    const isTelling = impossible > all / 20 && exact > all / 4
    assert.ok(isTelling || !areSizesUsual, `${impossible}, ${exact} of ${all}`)
  })
})
