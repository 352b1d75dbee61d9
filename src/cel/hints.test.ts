import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BOOL } from './check/types.ts'
import { compile } from './compile.ts'
import { STAGES } from './stages.ts'

/** Mistakes of those who come from another language: the text, its code, what is under the caret, the hint. */
const MISTAKES = [
  ["jwt.sub !== 'alice'", 'PC0101', '=', 'not equal is !='],
  ["jwt.sub <> 'alice'", 'PC0101', '>', 'not equal is !='],
  ["jwt.sub =~ '^a'", 'PC0101', '=', "for a pattern, write x.matches('…')"],
  ['jwt.level =< 3', 'PC0101', '=', 'at most is <='],
  ["jwt.a == 'x' and jwt.b == 'y'", 'PC0101', 'and', 'and is &&'],
  ["jwt.a == 'x' OR jwt.b == 'y'", 'PC0101', 'OR', 'or is ||'],
  ["not jwt.a == 'x'", 'PC0101', 'jwt', 'not is !: !(x == y)'],
  ["jwt.a not in ['x']", 'PC0101', 'not', 'not is !: !(x in [1, 2])'],
  ["jwt.a in ('x', 'y')", 'PC0101', ',', "a list is written ['a', 'b']"],
  ["jwt.a contains 'x'", 'PC0101', 'contains', "write x.contains('…')"],
  ["jwt?.sub == 'x'", 'PC0101', '', 'what may be absent is read with .?: jwt.?sub'],
  ["jwt.a ?? 'x' == 'x'", 'PC0101', '?', "for a default, write jwt.?team.orValue('none')"],
  ['jwt.sub == “x”', 'PC0101', '“', 'a text stands in straight quotes: \'x\' or "x"'],
  [
    'jwt.sub\u00a0== 1',
    'PC0101',
    '\u00a0',
    'U+00A0 is not a plain space: take it away, or put a space',
  ],
  ['jwt.sub == `x`', 'PC0101', '`x`', 'a text stands in straight quotes: \'x\' or "x"'],
  ["'it's'", 'PC0101', 's', "a quote within a text is written \\', or put other quotes around it"],
  ['source.address == 10.0.0.7', 'PC0101', '.0', "an address is a text: '10.0.0.7'"],
  ["$jwt.sub == 'x'", 'PC0101', '$', 'an attribute is written by its name alone: jwt.sub'],
  ["{{ jwt.sub }} == 'x'", 'PC0101', '}', 'an attribute is written by its name alone: jwt.sub'],
  ["if jwt.sub == 'x' then true", 'PC0101', 'if', 'write condition ? a : b'],
  [
    "request.headers.x-internal == 'a'",
    'PC0103',
    'internal',
    "a name with a hyphen is written request.headers['x-internal']",
  ],
  [
    "request.headers.x-forwarded-proto == 'a'",
    'PC0103',
    'proto',
    "a name with a hyphen is written request.headers['x-forwarded-proto']",
  ],
  [
    "request.headers.x-forwarded-for == 'a'",
    'PC0101',
    'for',
    "a name with a hyphen is written in brackets: request.headers['x-forwarded-for']",
  ],
  [
    "request.headers[x-internal] == 'a'",
    'PC0103',
    'internal',
    "a name with a hyphen is written 'x-internal'",
  ],
  ['request.method == GET', 'PC0103', 'GET', "a text is written in quotes: 'GET'"],
  [
    "user.name == 'x'",
    'PC0103',
    'user',
    'known here: source, destination, request, jwt, apiKey, basicAuth, extauthz, proxy',
  ],
  ['jwt.admin == True', 'PC0103', 'True', 'write true'],
  ["jwt.a.any(r, r == 'x')", 'PC0105', "jwt.a.any(r, r == 'x')", 'write list.exists(x, x == …)'],
  ["jwt.a.exists('x')", 'PC0105', "jwt.a.exists('x')", 'write list.exists(x, x == …)'],
  ["jwt.a.hasPrefix('/')", 'PC0105', "jwt.a.hasPrefix('/')", "write text.startsWith('…')"],
  [
    "cidr('10.0.0.0/8').contains(source.address)",
    'PC0106',
    "cidr('10.0.0.0/8').contains(source.address)",
    'write range.containsIP(address) or range.containsCIDR(range)',
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
    "a parameter is one of request.uri.query('page')",
  ],
  ['request.path.length > 1', 'PC0111', 'request.path.length', 'write size(x)'],
  [
    "exists(jwt.groups, g, g == 'x')",
    'PC0105',
    "exists(jwt.groups, g, g == 'x')",
    'write list.exists(x, x == …)',
  ],
  ['now > request.startTime', 'PC0103', 'now', 'the time of the request is request.startTime'],
  ["true == 'true'", 'PC0108', "true == 'true'", 'write true without quotes'],
  [
    "request.body.model == 'x'",
    'PC0111',
    'request.body.model',
    'where it is JSON, write json(request.body).model',
  ],
  [
    "request.body.contains('x')",
    'PC0106',
    "request.body.contains('x')",
    'for its text, write string(request.body).contains(…)',
  ],
  [
    "request.path.substr(0, 3) == '/a'",
    'PC0105',
    'request.path.substr(0, 3)',
    'write text.substring(start, end)',
  ],
  [
    "request.uri.getHost() == 'a'",
    'PC0106',
    'request.uri.getHost()',
    'write url(request.uri).getHost()',
  ],
  [
    "request.path.isLessThan(semver('1.2.3'))",
    'PC0106',
    "request.path.isLessThan(semver('1.2.3'))",
    'write semver(request.path) or quantity(request.path)',
  ],
  [
    "semver(request.path) < semver('1.2.3')",
    'PC0106',
    "semver(request.path) < semver('1.2.3')",
    'write a.isLessThan(b) or a.compareTo(b) <= 0',
  ],
  [
    "quantity(jwt.a) + quantity(jwt.b) == quantity('1')",
    'PC0106',
    'quantity(jwt.a) + quantity(jwt.b)',
    'write a.add(b) or a.sub(b)',
  ],
  [
    "request.host == url('http://a')",
    'PC0108',
    "request.host == url('http://a')",
    'write url(request.host)',
  ],
  [
    "nvl(jwt.team, 'none') == 'none'",
    'PC0105',
    "nvl(jwt.team, 'none')",
    "for a default, write jwt.?team.orValue('none')",
  ],
  [
    "jwt.version in [semver('1.2.3')]",
    'PC0108',
    "jwt.version in [semver('1.2.3')]",
    'write semver(jwt.version)',
  ],
  [
    "jwt.memory == quantity('1Mi')",
    'PC0108',
    "jwt.memory == quantity('1Mi')",
    'write quantity(jwt.memory)',
  ],
  [
    `'jwt.sub == "x"'`,
    'PC0109',
    `'jwt.sub == "x"'`,
    'the whole expression stands in quotes: take them away',
  ],
] as const

describe('hints for what other languages write', () => {
  for (const [text, code, under, hint] of MISTAKES) {
    it(text, () => {
      const { diagnostics } = compile(text, STAGES.traffic, { expect: BOOL })
      assert.equal(diagnostics.length, 1, 'one mistake, one diagnostic')
      const [first] = diagnostics
      assert.deepEqual([first?.code, first?.hint], [code, hint])
      assert.equal(text.slice(first?.excerpt?.start, first?.excerpt?.end), under)
    })
  }

  it('has() of a key says how to ask for one', () => {
    const [first] = compile("has(jwt['sub'])", STAGES.traffic, { expect: BOOL }).diagnostics
    assert.match(first?.message ?? '', /of a key, write 'group' in jwt$/)
  })

  it('a difference of two attributes stays one, with blanks or without', () => {
    for (const text of ['source.port-destination.port > 0', '[1].all(x, source.port-x > 0)']) {
      assert.deepEqual(compile(text, STAGES.traffic, { expect: BOOL }).diagnostics, [])
    }
  })
})
