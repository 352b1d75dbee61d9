import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BOOL } from './check/types.ts'
import { compile } from './compile.ts'
import { STAGES } from './stages.ts'

/** Mistakes of users who know another language: expression, code, text under the caret, hint. */
const MISTAKES = [
  ["jwt.sub !== 'alice'", 'PC0101', '=', 'use != for not equal'],
  ["jwt.sub <> 'alice'", 'PC0101', '>', 'use != for not equal'],
  ["jwt.sub =~ '^a'", 'PC0101', '=', "to match a pattern, use x.matches('…')"],
  ['jwt.level =< 3', 'PC0101', '=', 'use <= for at most'],
  ["jwt.a == 'x' and jwt.b == 'y'", 'PC0101', 'and', 'use && for and'],
  ["jwt.a == 'x' OR jwt.b == 'y'", 'PC0101', 'OR', 'use || for or'],
  ["not jwt.a == 'x'", 'PC0101', 'jwt', 'use ! for not: !(x == y)'],
  ["jwt.a not in ['x']", 'PC0101', 'not', 'use ! for not: !(x in [1, 2])'],
  ["jwt.a in ('x', 'y')", 'PC0101', ',', "use brackets for a list: ['a', 'b']"],
  ["jwt.a contains 'x'", 'PC0101', 'contains', "use x.contains('…')"],
  ["jwt?.sub == 'x'", 'PC0101', '', 'use .? for optional fields: jwt.?sub'],
  ["jwt.a ?? 'x' == 'x'", 'PC0101', '?', "for a default, use jwt.?team.orValue('none')"],
  ['jwt.sub == “x”', 'PC0101', '“', 'use straight quotes: \'x\' or "x"'],
  [
    'jwt.sub\u00a0== 1',
    'PC0101',
    '\u00a0',
    'U+00A0 is not a plain space: remove it, or replace it with a space',
  ],
  ['jwt.sub == `x`', 'PC0101', '`x`', 'use straight quotes: \'x\' or "x"'],
  [
    "'it's'",
    'PC0101',
    's',
    "to put a quote inside a string, use \\' or the other kind of quotes around it",
  ],
  ['source.address == 10.0.0.7', 'PC0101', '.0', "put addresses in quotes: '10.0.0.7'"],
  ["$jwt.sub == 'x'", 'PC0101', '$', 'use the name of the attribute alone: jwt.sub'],
  ["{{ jwt.sub }} == 'x'", 'PC0101', '}', 'use the name of the attribute alone: jwt.sub'],
  ["if jwt.sub == 'x' then true", 'PC0101', 'if', 'use condition ? a : b'],
  [
    "request.headers.x-internal == 'a'",
    'PC0103',
    'internal',
    "use request.headers['x-internal'] for a name with a hyphen",
  ],
  [
    "request.headers.x-forwarded-proto == 'a'",
    'PC0103',
    'proto',
    "use request.headers['x-forwarded-proto'] for a name with a hyphen",
  ],
  [
    "request.headers.x-forwarded-for == 'a'",
    'PC0101',
    'for',
    "use brackets for a name with a hyphen: request.headers['x-forwarded-for']",
  ],
  [
    "request.headers[x-internal] == 'a'",
    'PC0103',
    'internal',
    "use 'x-internal' for a name with a hyphen",
  ],
  ['request.method == GET', 'PC0103', 'GET', "put strings in quotes: 'GET'"],
  [
    "user.name == 'x'",
    'PC0103',
    'user',
    'available: source, destination, request, jwt, apiKey, basicAuth, extauthz, proxy',
  ],
  ['jwt.admin == True', 'PC0103', 'True', 'use true'],
  ["jwt.a.any(r, r == 'x')", 'PC0105', "jwt.a.any(r, r == 'x')", 'use list.exists(x, x == …)'],
  ["jwt.a.exists('x')", 'PC0105', "jwt.a.exists('x')", 'use list.exists(x, x == …)'],
  ['jwt.a.filterKeys(k)', 'PC0105', 'jwt.a.filterKeys(k)', 'use map.filterKeys(k, k == …)'],
  ['with(jwt.a, x, x)', 'PC0105', 'with(jwt.a, x, x)', 'use value.with(x, …)'],
  [
    '[1].filterKeys(k, true)',
    'PC0106',
    '[1]',
    'for a list, use list.filter(x, …) or list.map(x, …)',
  ],
  ["jwt.a.hasPrefix('/')", 'PC0105', "jwt.a.hasPrefix('/')", "use text.startsWith('…')"],
  [
    "cidr('10.0.0.0/8').contains(source.address)",
    'PC0106',
    "cidr('10.0.0.0/8').contains(source.address)",
    'use range.containsIP(address) or range.containsCIDR(range)',
  ],
  [
    "destination.address in '10.0.0.0/9'",
    'PC0106',
    "'10.0.0.0/9'",
    "test the range with cidr('10.0.0.0/9').containsIP(destination.address)",
  ],
  [
    "destination.address == '10.0.0.0/9'",
    'PC0107',
    "destination.address == '10.0.0.0/9'",
    "test the range with cidr('10.0.0.0/9').containsIP(destination.address)",
  ],
  [
    "request.query.page == '1'",
    'PC0111',
    'request.query.page',
    "use request.uri.query('page') for query parameters",
  ],
  ['request.path.length > 1', 'PC0111', 'request.path.length', 'use size(x)'],
  [
    "exists(jwt.groups, g, g == 'x')",
    'PC0105',
    "exists(jwt.groups, g, g == 'x')",
    'use list.exists(x, x == …)',
  ],
  ['now > request.startTime', 'PC0103', 'now', 'use request.startTime for the time of the request'],
  ["true == 'true'", 'PC0108', "true == 'true'", 'use true without quotes'],
  [
    "request.body.model == 'x'",
    'PC0111',
    'request.body.model',
    'if it is JSON, use json(request.body).model',
  ],
  [
    "request.body.contains('x')",
    'PC0106',
    "request.body.contains('x')",
    'convert it to a string: string(request.body).contains(…)',
  ],
  [
    "request.path.substr(0, 3) == '/a'",
    'PC0105',
    'request.path.substr(0, 3)',
    'use text.substring(start, end)',
  ],
  [
    "request.uri.getHost() == 'a'",
    'PC0106',
    'request.uri.getHost()',
    'use url(request.uri).getHost()',
  ],
  [
    "request.path.isLessThan(semver('1.2.3'))",
    'PC0106',
    "request.path.isLessThan(semver('1.2.3'))",
    'use semver(request.path) or quantity(request.path)',
  ],
  [
    "semver(request.path) < semver('1.2.3')",
    'PC0106',
    "semver(request.path) < semver('1.2.3')",
    'use a.isLessThan(b) or a.compareTo(b) <= 0',
  ],
  [
    "quantity(jwt.a) + quantity(jwt.b) == quantity('1')",
    'PC0106',
    'quantity(jwt.a) + quantity(jwt.b)',
    'use a.add(b) or a.sub(b)',
  ],
  [
    "request.host == url('http://a')",
    'PC0108',
    "request.host == url('http://a')",
    'use url(request.host)',
  ],
  [
    "nvl(jwt.team, 'none') == 'none'",
    'PC0105',
    "nvl(jwt.team, 'none')",
    "for a default, use jwt.?team.orValue('none')",
  ],
  [
    "jwt.version in [semver('1.2.3')]",
    'PC0108',
    "jwt.version in [semver('1.2.3')]",
    'use semver(jwt.version)',
  ],
  [
    "jwt.memory == quantity('1Mi')",
    'PC0108',
    "jwt.memory == quantity('1Mi')",
    'use quantity(jwt.memory)',
  ],
  [`'jwt.sub == "x"'`, 'PC0109', `'jwt.sub == "x"'`, 'remove the quotes around the expression'],
] as const

describe('hints for the syntax of other languages', () => {
  for (const [text, code, under, hint] of MISTAKES) {
    it(text, () => {
      const { diagnostics } = compile(text, STAGES.traffic, { expect: BOOL })
      assert.equal(diagnostics.length, 1, 'one mistake, one diagnostic')
      const [first] = diagnostics
      assert.deepEqual([first?.code, first?.hint], [code, hint])
      assert.equal(text.slice(first?.excerpt?.start, first?.excerpt?.end), under)
    })
  }

  it('has() of a key suggests the `in` operator', () => {
    const [first] = compile("has(jwt['sub'])", STAGES.traffic, { expect: BOOL }).diagnostics
    assert.match(first?.message ?? '', /to test for a map key, use 'group' in jwt$/)
  })

  it('treats `-` between two attributes as subtraction, with or without spaces', () => {
    for (const text of ['source.port-destination.port > 0', '[1].all(x, source.port-x > 0)']) {
      assert.deepEqual(compile(text, STAGES.traffic, { expect: BOOL }).diagnostics, [])
    }
  })
})
