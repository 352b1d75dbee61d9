import fc from 'fast-check'
import { readJson } from '../../src/cel/values/json-read.ts'
import type { Value } from '../../src/cel/values/value.ts'

/**
 * Claims of all JSON types, drawn near the constants that the conditions compare them with: a value
 * far from every constant tests nothing.
 */
export function claimValues(texts: readonly string[]): fc.Arbitrary<Value> {
  const numbers = constants(texts, /-?\d+(?:\.\d+)?(?:e\d+)?/g).map(Number)
  const strings = constants(texts, /'([^']*)'/g)
  const names = [...new Set([...strings.filter((one) => /^\w+$/.test(one)), 'x', 'y', 'zz'])]
  const scalar = fc.oneof(
    { weight: 3, arbitrary: nearNumber(numbers) },
    { weight: 3, arbitrary: nearText(strings) },
    fc.constantFrom<Value>(null, true, false),
  )
  const list = (of: fc.Arbitrary<Value>) => fc.array(of, { maxLength: 3 })
  return fc.letrec<{ any: Value }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 4, arbitrary: scalar },
      { weight: 1, arbitrary: list(tie('any')) },
      {
        weight: 3,
        arbitrary: fc.dictionary(fc.constantFrom(...names), tie('any'), {
          maxKeys: 4,
          noNullPrototype: true,
        }),
      },
    ),
  })).any
}

function constants(texts: readonly string[], pattern: RegExp): readonly string[] {
  return texts.flatMap((text) => [...text.matchAll(pattern)].map((one) => one[1] ?? one[0]))
}

/**
 * The constant, its neighbours at all scales, values between two constants, and values far away.
 */
function nearNumber(constants: readonly number[]): fc.Arbitrary<Value> {
  const known = [...constants, 0]
  const far = ['1e999', '-1e999', '1e308', '-5', '18446744073709551615', '9007199254740993', '-0']
  const near = fc
    .tuple(
      fc.constantFrom(...known),
      fc.constantFrom(0, 1, -1, 0.5, -0.5, 1e-9, -1e-9, 0.01, -0.01),
    )
    .map(([number, step]) => String(number + step))
  const relative = fc
    .tuple(fc.constantFrom(...known), fc.constantFrom(2 ** -52, -(2 ** -52), 2 ** -20, -(2 ** -20)))
    .map(([number, step]) => String(number + number * step))
  const between = fc
    .tuple(fc.constantFrom(...known), fc.constantFrom(...known), fc.constantFrom(0.5, 0.1, 0.9))
    .map(([a, b, share]) => String(a + (b - a) * share))
  const digits = fc
    .tuple(fc.constantFrom(...known.filter(Number.isInteger)), fc.integer({ min: -3, max: 3 }))
    .map(([number, step]) => String(BigInt(number) + BigInt(step)))
  return fc
    .oneof(near, relative, between, digits, fc.constantFrom(...far))
    .map((text) => readJson(text.replace('+', '')) as Value)
}

/** The constants, their parts, and all combinations of two of them. */
export function nearText(constants: readonly string[]): fc.Arbitrary<string> {
  const known = [...constants, '', 'q']
  const one = fc.constantFrom(...known)
  return fc.oneof(
    one,
    fc.tuple(one, one).map(([a, b]) => a + b),
    fc.tuple(one, one).map(([a, b]) => merged(a, b)),
    fc.tuple(one, one, one).map((all) => all.join('')),
    fc.tuple(one, fc.constantFrom('q', 'z', '/', '.', '0', 'é')).map(([a, b]) => a + b),
    fc.tuple(one, fc.constantFrom('q', 'z', '/', '.')).map(([a, b]) => b + a),
    fc.tuple(one, fc.nat(5)).map(([text, end]) => text.slice(0, end)),
    one.map((text) => text.slice(1)),
    one.map((text) => text.toUpperCase()),
  )
}

/** Merges `abc` and `cde` into `abcde`: the end of one overlaps the beginning of the other. */
function merged(a: string, b: string): string {
  for (let shared = Math.min(a.length, b.length); shared > 0; shared--) {
    if (a.endsWith(b.slice(0, shared))) return a + b.slice(shared)
  }
  return a + b
}
