import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import type { DecisionRecord, RuleRecord } from '../telemetry/decision-record.ts'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { painter } from './paint.ts'
import { renderDecision, renderDecisionLine } from './render-decision.ts'

const plain = painter(false)
const RULE: RuleRecord = {
  policy: 'team',
  section: 'traffic',
  level: 'route',
  kind: 'authorization',
  action: 'Require',
  index: 2,
  field: 'rules[2].require',
  expression: "jwt.group == 'eng'",
  mode: 'Enforce',
  origin: 'gateway.yaml:12:9',
}

const SERVICE = {
  method: 'external',
  policy: 'team',
  section: 'traffic',
  level: 'route',
  kind: 'extAuthz',
}

describe('a rendered decision', () => {
  for (const [what, fields, line] of [
    [
      'a Deny rule',
      { cause: 'matched', rule: { ...RULE, action: 'Deny' } },
      /Deny rule authorization\[2\] of team is true/,
    ],
    [
      'a Require rule that is false',
      { cause: 'false', rule: RULE },
      /Require rule authorization\[2\] of team is false\n {14}jwt\.group == 'eng'\n {14}gateway\.yaml:12:9 \(traffic, route\)/,
    ],
    [
      'a claim that is not set',
      { cause: 'unset', rule: RULE, variable: 'jwt.group', present: ['sub', 'iss'] },
      /of team is undefined\n[\s\S]* jwt\.group is missing; present: sub, iss\n/,
    ],
    [
      'an error',
      { cause: 'error', rule: RULE, reason: 'no such overload' },
      /failed[\s\S]*no such overload/,
    ],
    [
      'audit mode',
      { cause: 'false', enforced: false, rule: { ...RULE, mode: 'Audit' } },
      /^would deny[\s\S]*is false \(audit mode\)/,
    ],
    [
      'a search that was bounded',
      { examined: { rules: 64, of: 9_000, search: 'bounded' } },
      /searched 64 of 9000 Allow rules/,
    ],
    [
      'a search that was skipped',
      { examined: { rules: 0, of: 3, search: 'skipped' } },
      /not searched: too many denials/,
    ],
    [
      'what all rules say',
      { audited: { verdict: 'allowed', cause: 'matched', rule: RULE } },
      /if audit mode were enforced: allowed \(team authorization\[2\], matched\)/,
    ],
    [
      'credentials',
      { kind: 'authentication', cause: 'credentials', reason: 'expired', detail: '5 s ago' },
      /the credentials were rejected: expired: 5 s ago/,
    ],
    ...(
      [
        [
          'denied',
          'status 403',
          /the external service denied the request: status 403\n.*extAuthz of team/,
        ],
        [
          'unavailable',
          'connect-refused',
          /the external service could not be reached: connect-refused\n/,
        ],
        [
          'too-large',
          'the body cannot be shown',
          /the external service was not called: too-large: the body/,
        ],
      ] as const
    ).map(
      ([reason, detail, line]) =>
        [
          `a service that is asked: ${reason}`,
          { kind: 'authentication', cause: 'credentials', reason, detail, credentials: SERVICE },
          line,
        ] as const,
    ),
    ['an invalid policy', { cause: 'invalid-policy' }, /a policy is invalid/],
    [
      'which policy is invalid, where, and what is wrong with it',
      {
        cause: 'invalid-policy',
        reason: 'PC0103: there is no variable `jtw`',
        invalid: {
          policy: 'team',
          section: 'traffic',
          level: 'route',
          kind: 'authorization',
          origin: 'gateway.yaml:9:5',
        },
      },
      /authorization of team is invalid and denies all requests that it guards\n {14}gateway\.yaml:9:5 \(traffic, route\)\n {12}PC0103: there is/,
    ],
    [
      'a connection',
      { stage: 'connection', sni: 'a.test' },
      /connection to a\.test\n[\s\S]*server name a\.test/,
    ],
    [
      'what is redacted',
      { attributes: [{ name: 'jwt.sub', state: 'redacted' }] },
      /jwt\.sub {2}redacted/,
    ],
    [
      'what is cut',
      { attributes: [{ name: 'jwt.sub', state: 'cut', value: 'a…' }] },
      /jwt\.sub {2}"a…" …/,
    ],
  ] as readonly (readonly [string, Partial<DecisionRecord>, RegExp])[]) {
    it(`tells ${what}`, () => assert.match(renderDecision(recordOf(fields), plain), line))
  }

  it('escapes control characters from clients and users', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '\x1b', '[31m', '\r', '\n', '\x07', '\u202e', '\u2028', '\x9b'),
    })
    const property = fc.property(fc.array(text, { minLength: 12, maxLength: 12 }), (texts) => {
      const [a, b, c, d, e, f, g, h, i, j, k, l] = texts as unknown as readonly [
        string,
        ...string[],
      ]
      const rule = { ...RULE, policy: b as string, expression: c as string, origin: d as string }
      const record = recordOf({
        id: a,
        time: l as string,
        source: e as string,
        method: f as string,
        host: g as string,
        path: h as string,
        route: i as string,
        cause: 'unset',
        variable: j as string,
        present: [k as string],
        rule,
        nearest: {
          ...rule,
          misses: [{ condition: c as string, wanted: true, cause: 'error', reason: j as string }],
        },
        audited: { verdict: 'denied', cause: 'false', rule },
        attributes: [
          { name: k as string, state: 'shown', value: { [a]: b as string } },
          { name: h as string, state: 'unset' },
        ],
      })
      for (const rendered of [
        renderDecision(record, plain),
        `${renderDecisionLine(record, plain)}\n`,
      ]) {
        const acting = rendered.match(/[^\n\P{Cc}]|[\p{Bidi_Control}\u2028\u2029]/gu)
        assert.equal(acting, null)
      }
      assert.equal(renderDecisionLine(record, plain).includes('\n'), false)
    })
    fc.assert(property, fuzz(0.4))
  })
})
