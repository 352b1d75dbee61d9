import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { DYN, JSON_VALUE } from '../../src/cel/check/types.ts'
import { compile, environment } from '../../src/cel/index.ts'
import type { Value } from '../../src/cel/values/value.ts'
import type { Generator } from '../conformance/generator.ts'
import { inBatches, runAllModes } from './all-modes.ts'
import { assertProperty } from './assert-property.ts'
import { quoted } from './cel-values.ts'
import { readJavaScript } from './javascript-tokens.ts'
import { SEEDS } from './mutated-text.ts'
import { fuzz } from './runs.ts'

/** All names that generated code may use: its own variables, the runtime, and the language. */
const OWN = /^(?:[kqtv]\d+|[aceflinrv])$/
const LANGUAGE = new Set(
  `const let return if else for continue true false undefined null typeof instanceof Array Optional
   fuel`.split(/\s+/),
)
const RUNTIME = new Set(
  `getField optField testField getIndex optIndex isEqual isMember call makeList makeMap elementsOf
   firstOf secondOf grow addEntries endMap some flat own equals add subtract multiply divide modulo
   negate less lessOrEqual greater greaterOrEqual sizeOf hasText isSameText holds holdsText beginsWith
   finishesWith`.split(/\s+/),
)
const MEMBERS = new Set(
  `isArray includes startsWith endsWith has containsIp left length value none`.split(' '),
)

/** Identifiers with a meaning in JavaScript or in the generator. */
const NAMES =
  `constructor __proto__ prototype toString valueOf hasOwnProperty __defineGetter__ length
  name caller arguments this eval Function globalThis process require module exports undefined NaN
  Infinity c k0 k1 t0 t1 q0 v0 v1 r a i l n e f fuel own getField isEqual makeList Optional Array
  let const new delete typeof instanceof yield await async static class super $ _ __ get set`
    .split(/\s+/)
    .filter((name) => /^[A-Za-z_]\w*$/.test(name))

/**
 * Strings that end a string, a comment or a template, or that JavaScript treats as a line
 * terminator.
 */
const TEXTS = [
  `'`,
  `"`,
  '`',
  `\\`,
  `\\'`,
  `"];process.exit(1);["`,
  `');process.exit(1);('`,
  `*/process.exit(1)/*`,
  `//`,
  '$' + '{process.exit(1)}',
  `</script>`,
  '\n',
  '\r',
  '\u2028',
  '\u2029',
  '\u0000',
  '\ufeff',
  '\u{1f600}',
  `k0`,
  `c["x"]`,
  `0`,
  `-1`,
  `1e3`,
  ``,
]

const name = fc.oneof(fc.constantFrom(...NAMES), fc.stringMatching(/^[a-z_]\w{0,6}$/))
const text = fc.oneof(
  fc.constantFrom(...TEXTS, ...NAMES),
  fc.array(fc.constantFrom(...TEXTS, ...NAMES), { maxLength: 3 }).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)
/** Field names that are allowed between backticks. */
const quotedField = fc.oneof(
  fc.constantFrom('0', '1', '-1', 'a.b', 'a/b', 'a b', 'a-b', '__proto__', 'constructor', 'length'),
  name,
)

interface Hostile {
  readonly expression: string
  /** Names and strings of the expression that may appear in the source, quoted. */
  readonly own: readonly string[]
}

/** `N`, `T` and `Q` are holes for a name, a string, and a field between backticks. */
const TEMPLATES = `
  j.N == 'T'                       has(j.N)                       j['T'] == 'T'
  d.N.N == 'T'                     has(d.N.N) && d.N == 'T'       'T' in j
  j.\`Q\` == 'T'                   has(j.\`Q\`)                   d.\`Q\`.\`Q\` != 'T'
  j.list.exists(N, N == 'T')       d.map(N, N + 'T')              {'T': 'T', 'TT': j.N}['T'] == 'T'
  [j.N, 'T'].all(N, N != 'T')      cel.bind(N, 'T', N + N)        j.?N.orValue('T') == 'T'
  d.?\`Q\`.optMap(N, N == 'T')     j.N.startsWith('T')            'T'.matches('T')
  d[?'T'].hasValue()               j in ['T', 'T', d.N]           ['T', j.N].map(N, N, N == 'T')
  j.N in ['T', 'T']                d.transformMap(N, v, v)        N == 'T' || N.N == 'T'
`
  .split(/\s{2,}|\n/)
  .filter((template) => template !== '')

function hostile(): fc.Arbitrary<Hostile> {
  return fc
    .tuple(
      fc.constantFrom(...TEMPLATES),
      fc.infiniteStream(name),
      fc.infiniteStream(text),
      fc.infiniteStream(quotedField),
    )
    .map(([template, names, texts, fields]) => {
      const own: string[] = []
      const take = (stream: Iterator<string>): string => {
        const taken = stream.next().value as string
        own.push(taken)
        return taken
      }
      const expression = template.replaceAll(/\bN\b|'T+'|\bQ\b/g, (hole) => {
        if (hole === 'N') return take(names)
        return hole === 'Q' ? take(fields) : quoted(take(texts))
      })
      return { expression, own }
    })
}

const ENVIRONMENT = environment({
  name: 'fuzz',
  variables: [
    { name: 'j', type: JSON_VALUE, set: 'always', doc: '' },
    { name: 'd', type: DYN, set: 'always', doc: '' },
    ...NAMES.map((each) => ({ name: each, type: DYN, set: 'never', doc: '' })),
  ],
})

/**
 * JSON values with and without own members that have the names of JavaScript's built-in members.
 */
const VALUES: readonly Value[] = [
  JSON.parse('{"__proto__": {"a": 1}, "constructor": "x", "length": 3, "list": ["a", "0"]}'),
  {},
  ['a', 'b'],
  'text',
  7,
  null,
]

describe('hostile names and strings', () => {
  const runs = fuzz(0.1)

  it(`${runs.numRuns} of them: nothing gets into generated code but as a quoted name`, async () => {
    await inBatches(runs, (generator, parameters) => {
      const property = fc.property(hostile(), fc.constantFrom(...VALUES), (given, value) => {
        inspect(given, generator, value)
      })
      assertProperty('cel-injection', property, parameters)
    })
  })

  it("all expressions of cel-spec and cel-go's tests: their code uses only its own names", async () => {
    const env = environment({ name: 'seeds' })
    await inBatches({ numRuns: SEEDS.length, seed: 0 }, (generator, { numRuns, seed }) => {
      for (const expression of SEEDS.slice(seed, seed + numRuns)) {
        const compiled = compile(expression, env, { check: false }).expression
        if (compiled === undefined) continue
        const { names, members } = readJavaScript(generator.source(compiled))
        assert.deepEqual(foreign(names, members), [], expression)
      }
    })
  })

  for (const source of [
    '/* */',
    '// x',
    '`x`',
    '/x/',
    '"a\u2028',
    "'a\n'",
    '#a',
    'a\\u0041',
    '"a',
  ]) {
    it(`the tokenizer takes no ${JSON.stringify(source)}`, () => {
      assert.throws(() => {
        const { names, strings } = readJavaScript(source)
        assert.deepEqual([...names, ...strings], [])
      })
    })
  }
})

const NUMBERS: ReadonlySet<string> = new Set(['0', '1'])
/** The charge for a loop iteration, which depends on the size of the loop body. */
const CHARGE = /\(fuel\.left-=\d+\)</g

function inspect({ expression, own }: Hostile, generator: Generator, value: Value): void {
  const { expression: compiled } = compile(expression, ENVIRONMENT, { backend: 'closures' })
  if (compiled === undefined) return
  const { names, members, strings, numbers } = readJavaScript(
    generator.source(compiled).replaceAll(CHARGE, '(fuel.left-=0)<'),
  )
  assert.deepEqual(foreign(names, members), [])
  const quotable = new Set([
    '"j"',
    '"d"',
    "'string'",
    '"list"',
    ...own.map((each) => JSON.stringify(each)),
  ])
  assert.deepEqual(
    [...strings].filter((each) => !quotable.has(each)),
    [],
  )
  assert.deepEqual(
    [...numbers].filter((each) => !NUMBERS.has(each)),
    [],
  )
  assert.equal(runAllModes(compiled, generator, { j: value, d: value }).disagreement, undefined)
}

function foreign(names: ReadonlySet<string>, members: ReadonlySet<string>): string[] {
  const known = (each: string) => OWN.test(each) || LANGUAGE.has(each) || RUNTIME.has(each)
  return [
    ...[...names].filter((each) => !known(each)),
    ...[...members].filter((m) => !MEMBERS.has(m)),
  ]
}
