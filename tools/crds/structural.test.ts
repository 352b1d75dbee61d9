import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import * as z from 'zod'
import {
  aliased,
  anything,
  byteSize,
  choice,
  duration,
  oneOfKeys,
  policySchema,
} from '../../src/policies/schema.ts'
import { type Structural, toStructural } from './structural.ts'

describe('a schema of the file in Kubernetes', () => {
  for (const [what, schema, expected] of [
    [
      'words are canonical',
      choice('Strict', 'Optional'),
      { type: 'string', enum: ['Strict', 'Optional'] },
    ],
    [
      'numbers have their bounds',
      z.int().min(1).max(9),
      { type: 'integer', minimum: 1, maximum: 9 },
    ],
    ['whole numbers have none that say nothing', z.int(), { type: 'integer' }],
    ['a default is kept', z.boolean().prefault(true), { type: 'boolean', default: true }],
    [
      'a list of numbers to choose from',
      z.literal([301, 302]),
      { type: 'integer', enum: [301, 302] },
    ],
    [
      'anything',
      z.strictObject({ a: anything.optional() }),
      { type: 'object', properties: { a: { 'x-kubernetes-preserve-unknown-fields': true } } },
    ],
    [
      'other spellings are left out',
      aliased({ workers: z.int().optional() }, { threads: 'workers' }),
      { type: 'object', properties: { workers: { type: 'integer' } } },
    ],
    [
      'one or a list is the list',
      z.union([z.boolean(), z.array(z.boolean()).max(3)]),
      { type: 'array', maxItems: 3, items: { type: 'boolean' } },
    ],
    [
      'a mapping has a bound',
      z.record(z.string(), z.boolean()),
      { type: 'object', maxProperties: 256, additionalProperties: { type: 'boolean' } },
    ],
    [
      'required fields are required',
      z.strictObject({ a: z.boolean(), b: z.boolean().optional() }),
      {
        type: 'object',
        required: ['a'],
        properties: { a: { type: 'boolean' }, b: { type: 'boolean' } },
      },
    ],
  ] as const) {
    it(what, () => assert.deepEqual(toStructural(schema as z.ZodType), expected))
  }

  it('a size is a number or a string', () => {
    const { 'x-kubernetes-int-or-string': isSize, pattern } = toStructural(byteSize())
    assert.equal(isSize, true)
    assert.match('64Ki', new RegExp(pattern as string))
  })

  it('requires exactly one of several keys by a rule', () => {
    const keys = { a: z.boolean().optional(), b: z.boolean().optional() }
    const { 'x-kubernetes-validations': rules } = toStructural(
      oneOfKeys(z.strictObject(keys), ['a', 'b']),
    )
    assert.deepEqual(
      rules?.map(({ message }) => message),
      ['exactly one of a, b must be set'],
    )
  })

  it('a union must be replaced', () => {
    const schema = z.strictObject({ a: z.union([z.strictObject({}), z.string()]) })
    assert.throws(() => toStructural(schema), /a may be several things/)
    assert.deepEqual(toStructural(schema, { a: { type: 'string' } }).properties, {
      a: { type: 'string' },
    })
    assert.deepEqual(toStructural(schema, { a: undefined }).properties, {})
    assert.throws(() => toStructural(z.boolean(), { b: undefined }), /nothing to replace at b/)
  })

  it('durations keep their pattern', () => {
    assert.match('1m30s', new RegExp(toStructural(duration())['pattern'] as string))
  })
})

describe('the file accepts everything that the API server accepts', () => {
  // Kinds that are the same in both and have no rules that span several fields.
  for (const kind of [
    'connectionLimits',
    'cors',
    'frontendHttp',
    'frontendTcp',
    'outlierDetection',
    'proxyProtocol',
    'retry',
    'tcp',
    'timeout',
  ]) {
    it(kind, () => {
      const schema = policySchema(kind)
      fc.assert(
        fc.property(valuesOf(toStructural(schema)), (value) => {
          const { success, error } = schema.safeParse(value)
          assert.ok(success, `${JSON.stringify(value)}: ${error?.message}`)
        }),
        { numRuns: 200 },
      )
    })
  }
})

/** Any value that the schema accepts; strings without a pattern are expressions. */
function valuesOf(part: Structural): fc.Arbitrary<unknown> {
  const words = part['enum'] as readonly unknown[] | undefined
  const pattern = part['pattern'] as string | undefined
  if (words !== undefined) return fc.constantFrom(...words)
  if (part['x-kubernetes-int-or-string'] === true) {
    return fc.oneof(fc.nat(), fc.stringMatching(new RegExp(pattern as string)))
  }
  switch (part.type) {
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: Number(part['minimum'] ?? 0), max: Number(part['maximum'] ?? 1000) })
    case 'number':
      return fc.double({
        min: Number(part['minimum'] ?? 0),
        max: Number(part['maximum'] ?? 1),
        noNaN: true,
      })
    case 'string':
      return pattern === undefined
        ? fc.constantFrom('true', "request.path == '/'")
        : fc.stringMatching(new RegExp(pattern)).filter(isSensible(part))
    case 'array':
      return fc.array(valuesOf(part.items as Structural), {
        minLength: Number(part['minItems'] ?? 0),
        maxLength: Math.min(Number(part['maxItems'] ?? 3), 3),
      })
    default:
      return part.additionalProperties === undefined
        ? objectsOf(part)
        : fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), valuesOf(part.additionalProperties), {
            maxKeys: 3,
          })
  }
}

function objectsOf({ properties = {}, required = [] }: Structural): fc.Arbitrary<unknown> {
  const members = Object.entries(properties).map(([name, member]) => [name, valuesOf(member)])
  const model: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(members)
  return fc.record(model, { requiredKeys: [...required] })
}

/** Accepts strings within the max length, and rejects absurdly long durations. */
function isSensible({ maxLength = 64 }: Structural): (text: string) => boolean {
  return (text) => text.length <= Number(maxLength) && !/[0-9]{8}/.test(text)
}
