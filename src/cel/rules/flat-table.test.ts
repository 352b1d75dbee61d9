import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../test/fuzz/any-text.ts'
import { assertProperty } from '../../../test/fuzz/assert-property.ts'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { BOOL } from '../check/types.ts'
import { compile } from '../compile.ts'
import { STAGES } from '../stages.ts'
import type { Value } from '../values/value.ts'
import { type FlatBucket, FlatTable, hashOf } from './flat-table.ts'
import { type Action, compileRules, type Rule, type RuleSet } from './rule-set.ts'

const text = fc.oneof(
  fc.constantFrom('', 'a', 'b', 'ab', 'ba', 'abc', 'é', '😀', '\ud83d', '\u{1f600}b'),
  anyText({ maxLength: 6 }),
)

describe('FlatTable', () => {
  const buckets = fc.uniqueArray(fc.tuple(text, fc.option(text), fc.nat(0x7fffffff)), {
    selector: ([key]) => key,
    maxLength: 40,
  })

  for (const kind of ['equal', 'prefix'] as const) {
    it(`finds what a Map finds, and tests the rest: ${kind}`, () => {
      const property = fc.property(buckets, text, text, (entries, key, value) => {
        const made = entries.map(([own, rest, rule]): [string, FlatBucket] => [
          own,
          rest === 'ab' ? { match: () => rule } : { rule, text: rest ?? undefined },
        ])
        const table = new FlatTable(made, { kind, read: () => value })
        for (const asked of [key, ...made.map(([own]) => own)]) {
          const place = table.find(asked, asked.length, hashOf(asked))
          const expected = plainly(new Map(made), asked, value, kind)
          assert.equal(place < 0 ? undefined : table.enter(place, {}), expected)
        }
      })
      assertProperty('flat-table', property, fuzz(0.5))
    })
  }

  it('finds prefixes of a string', () => {
    const table = new FlatTable([['/api', { rule: 7, text: undefined }]], undefined)
    assert.ok(table.find('/api/x', 4, hashOf('/api')) >= 0)
    assert.equal(table.find('/apx/x', 4, hashOf('/apx')), -1)
    assert.equal(table.longest, 4)
  })
})

/** `undefined`: no such key. */
function plainly(
  map: ReadonlyMap<string, FlatBucket>,
  key: string,
  value: string,
  kind: 'equal' | 'prefix',
): number | undefined {
  const bucket = map.get(key)
  if (bucket === undefined) return undefined
  if ('match' in bucket) return bucket.match({})
  const rest = bucket.text ?? undefined
  const holds =
    rest === undefined || (kind === 'equal' ? value === rest : value.slice(0, rest.length) === rest)
  return holds ? bucket.rule : -1
}

// Each form of lookup, with and without a remaining test.
const FORMS: readonly ((n: number) => string)[] = [
  (n) => `jwt.sub == 'user-${n}'`,
  (n) => `jwt.team == 'ü-${n}' && request.path.startsWith('/svc-${n % 7}/')`,
  (n) => `jwt.role == 'r-${n}' && request.method == 'M${n % 3}'`,
  (n) => `jwt.kind == 'k-${n % 55}' && request.path.startsWith('/svc-${n % 5}/')`,
  (n) => `jwt.size == 's-${n}' && jwt.level == ${n % 4}`,
  (n) => `'g-${n}' in jwt.groups && request.method == 'M${n % 3}'`,
  (n) => `request.path.startsWith('/deep/${n}/')`,
  (n) => `request.path.startsWith('/both/${n}') && jwt.team == 't-${n % 3}'`,
  (n) => `request.method in ['A-${n}', 'B-${n}'] && size(request.path) > ${n % 9}`,
]

describe('flat look-ups', () => {
  for (const [form, write] of FORMS.entries()) {
    const action = form % 2 === 0 ? 'Allow' : 'Deny'
    it(`${action} ${write(0)}: the index decides as the scan does`, () => {
      const rules = Array.from({ length: 60 }, (_, n) => rule(action, write(n)))
      const indexed = compileRules(rules, { flatFrom: 50 })
      const linear = compileRules(rules, { index: false })
      assert.equal(indexed.counts.linear, 0)
      agree(indexed, linear, form)
    })
  }
})

function agree(indexed: RuleSet, linear: RuleSet, seed: number): void {
  const n = fc.nat(65)
  const request = fc.tuple(n, n, fc.nat(9), fc.nat(4)).map(([a, b, c, d]) => ({
    jwt: {
      sub: `user-${a}`,
      team: d > 1 ? `t-${c % 3}` : `ü-${a}`,
      role: `r-${a}`,
      kind: `k-${a}`,
      size: d === 1 ? (a as Value) : `s-${a}`,
      level: a % 4,
      groups: ['none', d === 2 ? 7 : `g-${b}`, `g-${a}`],
    },
    request: {
      path: [`/svc-${c}/x`, `/deep/${a}/x`, `/both/${a}0`, `/both/${a}`, '/'][d] as string,
      method: d % 2 === 0 ? `M${c % 3}` : `B-${a}`,
    },
  }))
  const decided = new Set<boolean>()
  const property = fc.property(request, (variables) => {
    const context = variables as unknown as Record<string, Value>
    const expected = linear.decide(context)
    decided.add(expected)
    assert.equal(indexed.decide(context), expected)
  })
  fc.assert(property, { numRuns: 200, seed })
  assert.equal(decided.size, 2, 'some requests were admitted, some refused')
}

function rule(action: Action, text: string): Rule {
  const { expression, diagnostics } = compile(text, STAGES.traffic, { expect: BOOL })
  assert.ok(expression !== undefined, `${text}: ${diagnostics[0]?.message}`)
  return { action, expression }
}
