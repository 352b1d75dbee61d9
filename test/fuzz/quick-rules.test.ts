import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { authorization } from '../../src/policies/authorization/schema.ts'
import { readQuickRules } from '../../src/policies/quick-rules.ts'
import { findAnnotated } from '../../src/policies/schema.ts'
import { areSizesUsual } from '../thresholds/sizes.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

const text = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("jwt.sub == 'alice'", 'true', ' ', 'not CEL (', '"') },
  { weight: 1, arbitrary: fc.constantFrom('', 'a'.repeat(16_384), 'a'.repeat(16_385)) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 7, true, [], {}, undefined) },
)
const key = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('allow', 'require', 'deny') },
  { weight: 1, arbitrary: fc.constantFrom('Allow', 'scopes', '__proto__', 'mode', '') },
)
const rule = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(key, text).map(([own, value]) => ({ [own]: value })) },
  fc.dictionary(key, text, { maxKeys: 2 }),
  text,
)
const rules = fc.oneof(
  { weight: 8, arbitrary: fc.array(rule, { maxLength: 3 }) },
  fc.array(fc.constant({ allow: 'true' }), { minLength: 60, maxLength: 70 }),
  fc.constantFrom<unknown>({ 0: { allow: 'true' }, length: 1 }, 'true', null),
)
const policy = fc.oneof(
  { weight: 8, arbitrary: rules.map((own) => ({ rules: own })) },
  fc
    .tuple(rules, fc.constantFrom('mode', 'action', 'policy', 'strange'), text)
    .map(([own, other, value]) => ({ rules: own, [other]: value })),
  rules,
)

describe('the quick reader of policy rules', () => {
  it('returns what the schema returns', () => {
    let quick = 0
    assertProperty(
      'quick-rules',
      fc.property(policy, (value) => {
        const own = readQuickRules(value)
        if (own === undefined) return
        quick++
        const { success, data } = authorization.safeParse(value)
        assert.ok(success, JSON.stringify(value))
        // Also compared as JSON, since the keys of a Model have this order.
        assert.equal(JSON.stringify(own.data), JSON.stringify(data))
        assert.deepEqual(own.data, data)
        assert.deepEqual(own.found, findAnnotated(authorization, value))
      }),
      fuzz(3),
    )
    assert.ok(quick > 20 || !areSizesUsual, `only ${quick} were read quickly`)
  })

  it('reads typical rules', () => {
    const written = { rules: [{ allow: "jwt.sub == 'alice'" }, { require: 'true' }, { deny: 'a' }] }
    assert.deepEqual(readQuickRules(written)?.data, authorization.parse(written))
  })
})
