import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { BOOL } from '../../cel/check/types.ts'
import { compile, type Expression, STAGES } from '../../cel/index.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { ERROR, FALSE, TRUE } from '../symbolic/outcome.ts'
import { canonical, KnownValues, stepsOf } from './known-values.ts'
import { evaluateKnown } from './outcomes.ts'

// Claims of a token, of which a record contains some: what is concluded from the record must be
// true for all claims.

const NAMES = ['a', 'b', 'c'] as const
const leaf = fc.constantFrom<Value>('x', '', 1, 0, true, false, null)
const claims = fc.letrec<{ object: JsonObject; value: Value }>((tie) => ({
  object: fc.dictionary(fc.constantFrom(...NAMES), tie('value'), {
    maxKeys: 3,
    noNullPrototype: true,
  }) as fc.Arbitrary<JsonObject>,
  value: fc.oneof({ maxDepth: 3 }, { weight: 2, arbitrary: leaf }, tie('object')),
})).object

const path = fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })

function isObject(value: Value | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function valueAt(world: JsonObject, steps: readonly string[]): Value | undefined {
  let value: Value | undefined = world
  for (const step of steps) {
    value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }
  return value
}

/** Records one thing about an attribute that is true; `how` chooses among the things to say. */
function tell(known: KnownValues, world: JsonObject, steps: readonly string[], how: number): void {
  const value = valueAt(world, steps)
  if (value === undefined) {
    // Only the first missing part is known to be unset.
    const missing = steps.findIndex((_, at) => valueAt(world, steps.slice(0, at + 1)) === undefined)
    const above = valueAt(world, steps.slice(0, missing))
    if (isObject(above)) known.unset(steps.slice(0, missing + 1))
    else known.memberless(steps.slice(0, missing), typeOf(above))
  } else if (how === 0) known.present(steps)
  else if (how === 1 && isObject(value)) known.open(steps)
  else known.set(steps, value)
}

function typeOf(value: Value | undefined): string {
  return typeof value === 'boolean' ? 'bool' : value === null ? 'null' : typeof value
}

const statements = fc.array(fc.tuple(path, fc.nat(4)), { maxLength: 8 })

function knownOf(world: JsonObject, said: readonly (readonly [readonly string[], number])[]) {
  const known = new KnownValues()
  for (const [steps, how] of said) tell(known, world, ['jwt', ...steps], how)
  return known
}

describe('known values', () => {
  it('are those of the request, whatever the order in which they are recorded', () => {
    const seen = { known: 0, unknown: 0 }
    const property = fc.property(claims, statements, path, (jwt, said, read) => {
      const world = { jwt }
      const steps = ['jwt', ...read]
      const known = knownOf(world, said)
      const other = knownOf(world, said.toReversed())
      assert.deepEqual(other.variables(), known.variables())
      for (const isTest of [false, true]) {
        assert.equal(other.isKnown(steps, isTest), known.isKnown(steps, isTest))
        seen[known.isKnown(steps, isTest) ? 'known' : 'unknown']++
      }
      const value = valueAt(world, steps)
      const shown = valueAt(known.variables(), steps)
      if (known.isKnown(steps, false)) assert.deepEqual(shown, value)
      if (known.isKnown(steps, true)) assert.equal(shown === undefined, value === undefined)
      if (known.valueAt(steps) !== undefined) assert.deepEqual(known.valueAt(steps), value)
    })
    fc.assert(property, fuzz(4))
    assert.ok(seen.known > 50 && seen.unknown > 50, JSON.stringify(seen))
  })

  it('include everything that was recorded', () => {
    const property = fc.property(claims, statements, (jwt, said) => {
      const known = knownOf({ jwt }, said)
      for (const [read, how] of said) {
        const steps = ['jwt', ...read]
        const value = valueAt({ jwt }, steps)
        if (how < 2 && value !== undefined) continue
        assert.ok(known.isKnown(steps, false), `${steps}`)
        assert.deepEqual(valueAt(known.variables(), steps), value)
      }
    })
    fc.assert(property, fuzz(2))
  })

  it('are replaced as a whole if a variable is', () => {
    const [known, other] = [new KnownValues(), new KnownValues()]
    known.set(['jwt', 'a'], 1)
    known.set(['request', 'path'], '/')
    assert.deepEqual(known.variables(), { jwt: { a: 1 }, request: { path: '/' } })
    other.set(['b'], 2)
    known.graft('jwt', other)
    assert.deepEqual(known.variables(), { jwt: { b: 2 }, request: { path: '/' } })
  })
})

const atom = fc.oneof(
  path.map((steps) => `has(jwt.${steps.join('.')})`),
  fc
    .tuple(path, fc.constantFrom('==', '!='), fc.constantFrom("'x'", '1', 'true', 'null', "''"))
    .map(([steps, sign, value]) => `jwt.${steps.join('.')} ${sign} ${value}`),
  path.map((steps) => `jwt.${steps.join('.')}.size() > 0`),
  path.map((steps) => `jwt.${steps.join('.')}`),
  fc.tuple(path, path).map(([a, b]) => `jwt.${a.join('.')} == jwt.${b.join('.')}`),
  fc.constantFrom('true', 'false'),
)
const condition = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    { weight: 2, arbitrary: atom },
    tie('any').map((one) => `!(${one})`),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} || ${b})`),
    fc.tuple(tie('any'), tie('any'), tie('any')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
  ),
})).any

describe('a condition of which some attributes are known', () => {
  it('has the outcome that it has for the request among the possible ones', () => {
    const seen = { open: 0, certain: 0 }
    const property = fc.property(claims, statements, condition, (jwt, said, text) => {
      const { expression } = compile(text, STAGES.traffic, { expect: BOOL })
      if (expression === undefined) return
      const value = expression.evaluate()({ jwt })
      const outcome = value === true ? TRUE : value === false ? FALSE : ERROR
      const of = (known: KnownValues) => evaluateKnown(expression.term, STAGES.traffic, known)
      const { outcomes, unknown } = of(knownOf({ jwt }, said))
      assert.ok(outcomes & outcome, `${text}: ${outcome} is not among ${outcomes}`)
      const isCertain = outcomes === outcome
      seen[isCertain ? 'certain' : 'open']++
      assert.equal(unknown.length === 0, isCertain, text)
      // With all that it reads, nothing is open.
      const all = pathsIn(expression).map((steps) => [steps, 2] as const)
      assert.deepEqual(of(knownOf({ jwt }, all)), { outcomes: outcome, unknown: [] })
    })
    fc.assert(property, fuzz(4))
    assert.ok(seen.open > 50 && seen.certain > 50, JSON.stringify(seen))
  })
})

function pathsIn({ reads }: Expression): readonly (readonly string[])[] {
  return reads.map(({ fields }) => fields)
}

describe('the name of an attribute', () => {
  for (const [name, steps] of [
    ['jwt', ['jwt']],
    ['jwt.sub', ['jwt', 'sub']],
    ["jwt['a-b'].c", ['jwt', 'a-b', 'c']],
    ["jwt['']", ['jwt', '']],
    ["request.headers['X-Team']", ['request', 'headers', 'x-team']],
    ["jwt.headers['X-Team']", ['jwt', 'headers', 'X-Team']],
    ['request.headers', ['request', 'headers']],
    ['', undefined],
    ['.sub', undefined],
    ["['sub']", undefined],
    ['jwt sub', undefined],
    ['jwt.', undefined],
    ['jwt.a-b', undefined],
    ["jwt['a", undefined],
    ['jwt.__proto__', undefined],
    ["jwt['__proto__']", undefined],
  ] as const) {
    it(`${name === '' ? 'nothing' : name}: ${steps?.join(' › ') ?? 'cannot be read'}`, () => {
      assert.deepEqual(stepsOf(name), steps)
      if (steps !== undefined) assert.deepEqual(canonical(steps), steps)
    })
  }
})
