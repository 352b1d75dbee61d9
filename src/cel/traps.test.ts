import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compile } from './compile.ts'
import { STAGES } from './stages.ts'
import { parseIp } from './values/ip.ts'
import { readJson } from './values/json-read.ts'
import type { Value } from './values/value.ts'

// Known pitfalls of CEL engines, each with its only correct result. `error` is CEL's error.

const claims = (text: string) => ({ jwt: readJson(text) as Value })

const TRAPS: readonly (readonly [
  title: string,
  cases: readonly (readonly [expression: string, result: unknown, variables?: object])[],
])[] = [
  [
    'integral JSON numbers are ints',
    [
      ['jwt.level + 1 == 4', true, claims('{"level": 3}')],
      ['type(jwt.level) == int', true, claims('{"level": 3}')],
      ['type(jwt.level) == double', true, claims('{"level": 3.5}')],
    ],
  ],
  [
    'claims above 2^53 stay exact',
    [
      ['jwt.big == 9007199254740993', true, claims('{"big": 9007199254740993}')],
      ['jwt.big == 9007199254740992', false, claims('{"big": 9007199254740993}')],
      ['jwt.big == 18446744073709551615u', true, claims('{"big": 18446744073709551615}')],
      ['jwt.ids[1] == 9007199254740995', true, claims('{"ids": [1, 9007199254740995]}')],
    ],
  ],
  [
    'int64 and uint64 overflow is an error',
    [
      ['9223372036854775807 + 1 == 0', 'error'],
      ['-(-9223372036854775808) == 0', 'error'],
      ['-9223372036854775808 / -1 == 0', 'error'],
      ['-9223372036854775808 % -1 == 0', 'error'],
      ['9223372036854775807 * 2 == 0', 'error'],
      ['0u - 1u == 0u', 'error'],
      ['18446744073709551615u + 1u == 0u', 'error'],
      ['int(1e19) == 0', 'error'],
      ['int(-9223372036854775809.0) == 0', 'error'],
      ['9007199254740993 - 1 == 9007199254740992', true],
    ],
  ],
  [
    'numbers are equal across their types',
    [
      ['dyn(1) == 1.0', true],
      ['dyn(1) == 1u', true],
      ['1 in [1.0, 2.0]', true],
      ['[dyn(1)] == [1.0]', true],
      ['{1: "a"}[dyn(1.0)] == "a"', true],
      ['{1u: "a"}[dyn(1)] == "a"', true],
      ['dyn(9007199254740993) == 9007199254740992.0', false],
      ['double("NaN") == double("NaN")', false],
      ['double("NaN") != double("NaN")', true],
      ['0.0 == -0.0', true],
    ],
  ],
  [
    'equality across types is false, order across types an error',
    [
      ['dyn("1") == 1', false],
      ['dyn("1") != 1', true],
      ['dyn("1") < 2', 'error'],
      ['dyn(null) == false', false],
    ],
  ],
  [
    'and, or, all and exists absorb errors on both sides',
    [
      ['jwt.a == 1 || true', true, claims('{}')],
      ['true || jwt.a == 1', true, claims('{}')],
      ['jwt.a == 1 && false', false, claims('{}')],
      ['false && jwt.a == 1', false, claims('{}')],
      ['jwt.a == 1 && request.method == "GET"', 'error', claims('{}')],
      ['dyn("horses") && false', false],
      ['dyn("horses") || true', true],
      ['dyn("horses") && true', 'error'],
      ['[1, 0].exists(x, 1 / x == 1)', true],
      ['[0, 1].exists(x, 1 / x == 1)', true],
      ['[0, 1].all(x, 1 / x == 2)', false],
      ['[0, 1].all(x, 1 / x == 1)', 'error'],
      ['[0, 1].exists_one(x, 1 / x == 1)', 'error'],
      ['size([0, 1].map(x, 1 / x)) == 2', 'error'],
      ['size([0, 1].filter(x, 1 / x == 1)) == 1', 'error'],
    ],
  ],
  [
    'a missing claim is an error whatever the comparison',
    [
      ["jwt.group != 'eng'", 'error', claims('{}')],
      ["!(jwt.group == 'eng')", 'error', claims('{}')],
      ["!(jwt.group != 'eng')", 'error', claims('{}')],
      ["has(jwt.group) && jwt.group == 'eng'", false, claims('{}')],
      ["jwt.group == 'eng' ? true : true", 'error', claims('{}')],
    ],
  ],
  [
    'has() is true of null, and an error of a missing parent',
    [
      ['has(jwt.a)', true, claims('{"a": null}')],
      ['has(jwt.a)', false, claims('{}')],
      ['has(jwt.a.b)', 'error', claims('{}')],
      ['has(jwt.a.b)', false, claims('{"a": {}}')],
      ['has(jwt.a.b)', 'error', claims('{"a": "text"}')],
      ['has(jwt.a)', 'error', {}],
      ['jwt.a == null', true, claims('{"a": null}')],
    ],
  ],
  [
    'what JavaScript objects inherit does not exist',
    [
      ['has(jwt.constructor)', false, claims('{}')],
      ['has(jwt.__proto__)', false, claims('{}')],
      ['has(jwt.toString)', false, claims('{}')],
      ["jwt['hasOwnProperty'] == 1", 'error', claims('{}')],
      ['jwt.a.length == 1', 'error', claims('{"a": "x"}')],
      ['jwt.a.length == 1', 'error', claims('{"a": [1]}')],
      ['jwt.a.sub == 1', 'error', claims('{"a": "x"}')],
      ["jwt.constructor == 'x'", true, claims('{"constructor": "x"}')],
      ['jwt.__proto__.admin == true', true, claims('{"__proto__": {"admin": true}}')],
      ['jwt.admin == true', 'error', claims('{"__proto__": {"admin": true}}')],
      ["'constructor' in jwt", false, claims('{}')],
    ],
  ],
  [
    'strings count code points',
    [
      ["size('😀')", 1],
      ["'a😀b'.substring(1, 2) == '😀'", true],
      ["'a😀b'.indexOf('b')", 2],
      ["'\\uFFFF' < '😀'", true],
      ["'\\x41' == 'A' && b'\\xff' == b'\\377'", true],
      ["size(b'\\xff')", 1],
      ["size('\\xff')", 1],
    ],
  ],
  [
    'matches is RE2, and searches',
    [
      ["'xaby'.matches('a.y?')", true],
      ["'a\\nb'.matches('a.b')", false],
    ],
  ],
  [
    'timestamps count nanoseconds, in any zone',
    [
      [
        "timestamp('2026-01-01T00:00:00.000000001Z') == timestamp('2026-01-01T00:00:00.000000002Z')",
        false,
      ],
      ["timestamp('2026-01-01T23:00:00Z').getHours('02:00')", 1],
      ["timestamp('2026-01-01T23:00:00Z').getDate('+02:00')", 2],
      ["timestamp('2026-07-01T12:00:00Z').getHours('Europe/Berlin')", 14],
      [
        "timestamp('9999-12-31T23:59:59Z') + duration('1s') == timestamp('2026-01-01T00:00:00Z')",
        'error',
      ],
      ["duration('1.5s') == duration('1500ms')", true],
    ],
  ],
  [
    'map keys are int, uint, bool or string, each once',
    [
      ['{1: 1, 1u: 2}[dyn(1)] == 1', 'error'],
      ['{dyn(1.5): 1} == {}', 'error'],
      ['{dyn(null): 1} == {}', 'error'],
      ['[1, 2][dyn(1.0)]', 2],
      ['[1, 2][dyn(0.5)]', 'error'],
    ],
  ],
  [
    'IPv4 and IPv6 never match each other, nor an address a range',
    [
      ["cidr('10.0.0.0/8').containsIP(source.address)", true],
      ["cidr('::/0').containsIP(source.address)", false],
      ["source.address == '10.0.0.7'", true],
      ["string(source.address) == '10.0.0.7'", true],
      ["isIP('010.0.0.7')", false],
      ["isIP('::ffff:10.0.0.7')", false],
      ["isIP('fe80::1%eth0')", false],
      ["dyn(source.address) == '10.0.0.0/8'", false],
    ],
  ],
  [
    'header names are found in any case',
    [
      ["request.headers['X-Internal'] == 'true'", true],
      ["request.headers['x-internal'] == 'true'", true],
      ['has(request.headers.absent)', false],
      ["request.headers['absent'] == ''", 'error'],
    ],
  ],
  [
    'an unset variable is an error, not null',
    [
      ["jwt.sub == 'x'", 'error', {}],
      ['jwt == null', 'error', {}],
      ["destination.hostname == 'x'", 'error'],
      ['!request.path.startsWith(destination.hostname)', 'error'],
      ['!destination.hostname.startsWith(request.path)', 'error'],
      ["!(destination.hostname in ['a'])", 'error'],
      ["!('a' in jwt.groups)", 'error', {}],
      ['has(destination.hostname)', false],
    ],
  ],
  [
    'what stands in for an absent value is not looked at where the value is there',
    [
      ["jwt.?team.orValue(jwt.group) == 'core'", true, claims('{"team": "core"}')],
      ["jwt.?team.orValue(jwt.group) == 'ops'", true, claims('{"group": "ops"}')],
      ["jwt.?team.orValue(jwt.group) == 'ops'", 'error', claims('{}')],
      ["jwt.?team.orValue(jwt.group) == 'ops'", 'error', {}],
      ["request.headers[?'x-internal'].orValue(jwt.sub) == 'true'", true, {}],
      ["jwt.?a.or(jwt.?b).or(jwt.c.?d).orValue('none') == '2'", true, claims('{"b": "2"}')],
      ["jwt.?a.or(jwt.?b).or(jwt.c.?d).orValue('none') == 'none'", 'error', claims('{}')],
      [
        "jwt.?a.or(jwt.?b).orValue(jwt.list.size() > 0 ? 'x' : 'y') == '1'",
        true,
        claims('{"a": "1"}'),
      ],
      ['dyn(request.path).orValue(1) == 1', 'error'],
      ['jwt.?none.or(dyn(request.path)).hasValue()', 'error', claims('{}')],
    ],
  ],
]

const REQUEST = {
  request: { method: 'GET', path: '/', headers: { 'x-internal': 'true' } },
  source: { address: parseIp('10.0.0.7'), port: 4711 },
  destination: { port: 443 },
}

describe('traps', () => {
  for (const [title, cases] of TRAPS) {
    describe(title, () => {
      for (const [text, result, variables] of cases) {
        it(`${text} is ${result}`, () => {
          for (const backend of ['generated', 'closures'] as const) {
            const { expression, diagnostics } = compile(text, STAGES.traffic, { backend })
            assert.ok(expression, diagnostics[0]?.message ?? '')
            const all = { ...REQUEST, ...variables } as unknown as Record<string, Value>
            const wanted = result === 'error' ? undefined : result
            assert.deepEqual(expression.evaluate()(all), wanted, backend)
            assert.equal(expression.predicate()(all), wanted === true, backend)
            assert.deepEqual(expression.explain(all).value, wanted, 'explain')
          }
        })
      }
    })
  }

  it('takes linear time for a pattern that backtracks in other engines', () => {
    const { expression } = compile("request.path.matches('^(a+)+$')", STAGES.traffic)
    const path = `${'a'.repeat(50_000)}b`
    const before = process.cpuUsage().user
    assert.equal(expression?.predicate()({ request: { path } }), false)
    assert.ok(process.cpuUsage().user - before < 2_000_000)
  })

  it('rejects parentheses and chains beyond the limits without a stack overflow', () => {
    for (const text of [
      '('.repeat(5_000),
      `a${' + a'.repeat(5_000)}`,
      `${'['.repeat(3_000)}`,
      '!'.repeat(9_999),
    ]) {
      assert.equal(compile(text, STAGES.traffic).expression, undefined)
    }
  })
})
