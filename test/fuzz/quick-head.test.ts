import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readQuickHead } from '../../src/sources/file/sections/quick-head.ts'
import { attachedHead } from '../../src/sources/file/sections/routes.ts'
import { areSizesUsual } from '../thresholds/sizes.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

/** Parts of names, hosts and paths, and sometimes parts that are not allowed in them. */
const PARTS = ['a', 'B', '0', 'api', 'x1', '.', '-', '/', '*', '*.', '_', ' ', '?', '#', '%2f', 'é']
const plain = fc.array(fc.constantFrom(...PARTS.slice(0, 5)), { minLength: 1, maxLength: 4 })
const odd = fc.array(fc.constantFrom(...PARTS), { maxLength: 6 })
const LONG = ['a'.repeat(31), 'a'.repeat(64), 'a.'.repeat(130), `/${'a'.repeat(2048)}`]
const scalar = fc.oneof(
  { weight: 12, arbitrary: plain.map((parts) => parts.join('')) },
  { weight: 4, arbitrary: odd.map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.constantFrom(...LONG, null, true, 7, [], {}) },
)
const pathText = scalar.map((own) => (typeof own === 'string' ? `/${own}` : own))
const path = fc.oneof(
  { weight: 4, arbitrary: fc.record({ pathPrefix: pathText }) },
  { weight: 4, arbitrary: fc.record({ exact: pathText }) },
  fc.record({ pathPrefix: pathText, exact: pathText, regex: scalar }, { requiredKeys: [] }),
)
const match = fc.oneof(
  { weight: 6, arbitrary: fc.record({ path }) },
  fc.record({ path, method: scalar, headers: scalar }, { requiredKeys: ['path'] }),
)
const known = fc.record(
  {
    name: scalar,
    hostnames: fc.array(scalar, { maxLength: 2 }),
    gateways: fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })),
    matches: fc.array(match, { maxLength: 2 }),
  },
  { requiredKeys: [] },
)
const head = fc.oneof(
  { weight: 6, arbitrary: known },
  fc
    .tuple(known, fc.constantFrom('namespace', 'ruleName', 'strange', 'matches'), scalar)
    .map(([own, key, value]) => ({ ...own, [key]: value })),
)

describe('the quick reader of route heads', () => {
  it('returns what the schema returns', () => {
    let quick = 0
    assertProperty(
      'quick-head',
      fc.property(head, (value) => {
        const own = readQuickHead(value)
        if (own === undefined) return
        quick++
        const { success, data } = attachedHead.safeParse(value)
        assert.ok(success, JSON.stringify(value))
        assert.deepEqual({ ...own }, { ...data })
      }),
      fuzz(3),
    )
    assert.ok(quick > 20 || !areSizesUsual, `only ${quick} were read quickly`)
  })

  it('reads a typical route head', () => {
    const written = {
      name: 'checkout/v2',
      hostnames: ['shop.example.com', '*.shop.example.com'],
      gateways: ['default', 'internal/https'],
      matches: [{ path: { pathPrefix: '/api' } }, { path: { exact: '/' } }],
      policies: { anything: true },
      backends: 'whatever',
    }
    const { policies: _, backends: __, ...head } = written
    assert.deepEqual(readQuickHead(written), attachedHead.parse(head))
  })
})
