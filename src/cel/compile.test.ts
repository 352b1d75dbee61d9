import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { BOOL } from './check/types.ts'
import { compile } from './compile.ts'
import { STAGES, type Stage } from './stages.ts'
import type { Value } from './values/value.ts'

describe('diagnostics', () => {
  for (const [stage, text, code, under, hint] of [
    ['traffic', "jwt.sub = 'alice'", 'PC0101', '=', 'use == to compare'],
    ['traffic', "jwt.sub == 'alice", 'PC0101', "'alice", "close it with '"],
    ['traffic', 'jwt.sub == "a" &&', 'PC0101', '', undefined],
    ['traffic', "request.path.startsWith('/a' && true", 'PC0101', '', undefined],
    ['traffic', 'has(jwt)', 'PC0101', 'jwt', undefined],
    ['traffic', `${'('.repeat(300)}true`, 'PC0102', '(', undefined],
    ['traffic', "reqest.path == '/'", 'PC0103', 'reqest', 'did you mean `request`?'],
    [
      'connection',
      "request.path == '/'",
      'PC0104',
      'request',
      'it is available in traffic policies',
    ],
    ['connection', "jwt.sub == 'x'", 'PC0104', 'jwt', 'it is available in traffic policies'],
    ['traffic', "mcp.tool.name == 'x'", 'PC0104', 'mcp', 'it is available in MCP authorization'],
    [
      'traffic',
      'response.code == 200',
      'PC0104',
      'response',
      'it is available in policies on responses',
    ],
    [
      'traffic',
      "request.path.startWith('/')",
      'PC0105',
      "request.path.startWith('/')",
      'did you mean `startsWith`?',
    ],
    [
      'traffic',
      "startsWith(request.path, '/')",
      'PC0105',
      "startsWith(request.path, '/')",
      'use string.startsWith(string)',
    ],
    [
      'traffic',
      'request.path.startsWith(1)',
      'PC0106',
      'request.path.startsWith(1)',
      'expected string.startsWith(string)',
    ],
    ['traffic', 'request.path + 1 == "x"', 'PC0106', 'request.path + 1', undefined],
    ['traffic', 'request.path && true', 'PC0106', 'request.path', 'add a comparison: x == …'],
    ['traffic', 'request.method < 1', 'PC0106', 'request.method < 1', undefined],
    [
      'traffic',
      "source.address == '10.0.0.0/8'",
      'PC0107',
      "source.address == '10.0.0.0/8'",
      "test the range with cidr('10.0.0.0/8').containsIP(source.address)",
    ],
    [
      'connection',
      "source.address != 'localhost'",
      'PC0107',
      "source.address != 'localhost'",
      'use the format 10.0.0.7 or 2001:db8::1',
    ],
    [
      'connection',
      "source.address in ['10.0.0.0/8']",
      'PC0107',
      "source.address in ['10.0.0.0/8']",
      "test the range with cidr('10.0.0.0/8').containsIP(source.address)",
    ],
    ['traffic', "jwt == 'x'", 'PC0108', "jwt == 'x'", undefined],
    [
      'traffic',
      'request.method == 1',
      'PC0108',
      'request.method == 1',
      'convert one side: string(x), int(x)',
    ],
    ['traffic', 'request.method in [1, 2]', 'PC0108', 'request.method in [1, 2]', undefined],
    ['traffic', 'request.method', 'PC0109', 'request.method', 'add a comparison: x == …'],
    ['traffic', 'size(request.path)', 'PC0109', 'size(request.path)', 'add a comparison: x == …'],
    ['traffic', "request.pth == '/'", 'PC0111', 'request.pth', 'did you mean `request.path`?'],
    ['traffic', 'request.path.length == 1', 'PC0111', 'request.path.length', undefined],
    [
      'traffic',
      "cidr('10.0.0.0/33').containsIP(source.address)",
      'PC0112',
      "cidr('10.0.0.0/33')",
      undefined,
    ],
    ['traffic', "ip('300.0.0.1') == source.address", 'PC0112', "ip('300.0.0.1')", undefined],
    ['traffic', "request.path.matches('(')", 'PC0112', "request.path.matches('(')", undefined],
    [
      'traffic',
      "request.startTime > timestamp('yesterday')",
      'PC0112',
      "timestamp('yesterday')",
      undefined,
    ],
    [
      'traffic',
      'jwt.a.all(x, jwt.a.all(y, jwt.a.all(z, x == y && y == z)))',
      'PC0113',
      'jwt.a.all(x, jwt.a.all(y, jwt.a.all(z, x == y && y == z)))',
      undefined,
    ],
    ['traffic', 'a.B{c: 1} == 1', 'PC0114', 'a.B{c: 1}', 'use a map: {"key": value}'],
  ] as const satisfies readonly (readonly [Stage, string, string, string, string | undefined])[]) {
    it(`${code} for ${text.slice(0, 60)} (${stage})`, () => {
      const { expression, diagnostics } = compile(text, STAGES[stage], { expect: BOOL })
      assert.equal(expression, undefined)
      const [first] = diagnostics
      assert.equal(first?.code, code, first?.message ?? '')
      assert.equal(first.severity, 'error')
      const { start, end } = first.excerpt ?? { start: 0, end: 0 }
      assert.equal(text.slice(start, end), under)
      if (hint !== undefined) assert.equal(first.hint, hint)
    })
  }

  for (const [text, code] of [
    ['true', 'PC0110'],
    ['1 < 2', 'PC0110'],
    ["jwt.sub == 'x' || true", 'PC0110'],
    ['false && jwt.sub == "x"', 'PC0110'],
    ['[1, 2].all(x, x > 0)', 'PC0110'],
    ["['a'].exists(request, request == jwt.sub)", 'PC0115'],
  ] as const) {
    it(`${code} is a warning for ${text}`, () => {
      const { expression, diagnostics } = compile(text, STAGES.traffic, { expect: BOOL })
      assert.ok(expression)
      assert.deepEqual(
        diagnostics.map((d) => [d.code, d.severity]),
        [[code, 'warning']],
      )
    })
  }

  it('reports all type errors of an expression at once', () => {
    const text = "reqest.path == '/' && request.pth == '/' && request.method == 1"
    const { diagnostics } = compile(text, STAGES.traffic)
    assert.deepEqual(
      diagnostics.map((d) => d.code),
      ['PC0103', 'PC0111', 'PC0108'],
    )
  })

  it('origins point into the file', () => {
    const origin = { kind: 'part', file: 'gateway.yaml', part: 'routes/a', field: 'x' } as const
    const one = compile("jwt.a == '😀' && reqest == 'x'", STAGES.traffic, { origin })
    assert.deepEqual(one.diagnostics[0]?.origin, { ...origin, at: 17 })
  })
})

describe('reads', () => {
  for (const [text, reads] of [
    ["jwt.sub == 'x'", ['jwt.sub may be absent']],
    ["request.method == 'GET' && request.path == '/'", ['request.method', 'request.path']],
    ["request.headers['X-Internal'] == 'true'", ["request.headers['x-internal'] may be absent"]],
    ['has(jwt.a) && jwt.b.c.d == 1', ['jwt.a may be absent, tested', 'jwt.b.c.d may be absent']],
    ['has(jwt.a) && jwt.a == 1', ['jwt.a may be absent']],
    ["cidr('10.0.0.0/8').containsIP(source.address)", ['source.address']],
    ['jwt.groups.exists(g, g == request.path)', ['jwt.groups may be absent', 'request.path']],
    ["destination.hostname == 'x'", ['destination.hostname may be absent']],
    ['jwt[request.path] == 1', ['jwt may be absent', 'request.path']],
    ["jwt.?a.orValue('x') == 'x'", ['jwt.a may be absent, tested']],
  ] as const) {
    it(`${text}: ${reads.join('; ')}`, () => {
      const { expression } = compile(text, STAGES.traffic)
      const shown = expression?.reads.map(
        ({ path, absent, tested }) =>
          `${path}${absent ? ' may be absent' : ''}${tested ? ', tested' : ''}`,
      )
      assert.deepEqual(shown, reads)
    })
  }
})

describe('cost', () => {
  const groups = Array.from({ length: 1_000 }, (_, i) => `g${i}`)
  const long = 'x'.repeat(60_000)
  const map = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`k${i}`, i]))
  const many = Array.from({ length: 20_000 }, (_, i) => i)
  const path = `${long.slice(1)}x`
  const variables = { jwt: { groups, long, map, many }, request: { path } } as unknown as Record<
    string,
    Value
  >
  for (const [title, text] of [
    ['loops inside loops', 'jwt.groups.all(a, jwt.groups.all(b, a + b != "x"))'],
    ['a list that grows', 'size(jwt.groups.map(a, jwt.groups.map(b, a + b))) > 0'],
    [
      'a string that doubles',
      `${[...'abcdefghij'].reduce((inner, v, i) => inner.replace('BODY', `cel.bind(${v}, ${i === 0 ? 'jwt.long + jwt.long' : `${'abcdefghij'[i - 1]} + ${'abcdefghij'[i - 1]}`}, BODY)`), 'BODY').replace('BODY', 'size(j) > 0')}`,
    ],
    ['joining in a loop', 'jwt.groups.all(a, size(jwt.groups.join(a)) > 0)'],
    ['replacing in a loop', 'jwt.groups.all(a, size(jwt.long.replace("x", "yy")) > 0)'],
    ['searching a pattern in a loop', 'jwt.groups.all(a, !jwt.long.matches("x+y"))'],
    ['counting the members of a large map in a loop', 'jwt.groups.all(a, size(jwt.map) > 0)'],
    ['beginning a loop over a large map in a loop', 'jwt.groups.all(a, jwt.map.exists(k, k != a))'],
    ['comparing long texts in a loop', 'jwt.many.all(a, request.path == jwt.long)'],
    ['comparing long beginnings in a loop', 'jwt.many.all(a, request.path.startsWith(jwt.long))'],
    ['looking for a text in a list in a loop', 'jwt.many.all(a, !("x" in jwt.many))'],
    ['looking for members in a loop', 'jwt.groups.all(a, jwt.groups.all(b, a in jwt.groups))'],
  ] as const) {
    it(`${title} is an error once it is over its bound, and soon`, () => {
      for (const backend of ['generated', 'closures'] as const) {
        const { expression, diagnostics } = compile(text, STAGES.traffic, { backend })
        assert.ok(expression, diagnostics[0]?.message ?? '')
        const before = process.cpuUsage().user
        assert.equal(expression.predicate()(variables), false)
        assert.equal(expression.evaluate()(variables), undefined)
        const { value, cause } = expression.explain(variables)
        assert.equal(value, undefined)
        assert.equal(cause?.kind, 'error')
        assert.ok(
          process.cpuUsage().user - before < 3_000_000,
          'three evaluations within three seconds',
        )
      }
    })
  }

  it('operators that absorb errors do not absorb an exceeded budget', () => {
    const { expression } = compile(
      'jwt.groups.all(a, jwt.groups.all(b, a + b != "x")) || request.path != ""',
      STAGES.traffic,
    )
    assert.equal(expression?.predicate()(variables), false)
    assert.equal(expression?.evaluate()(variables), undefined)
    assert.equal(expression?.explain(variables).value, undefined)
  })

  it('does not fully traverse a value that contains itself many times', () => {
    const nested = (name: string, inner: string) =>
      Array.from({ length: 40 }, (_, i) => 40 - i).reduce((body, i) => {
        const below = i === 1 ? 'request.path' : `${name}${i - 1}`
        return `cel.bind(${name}${i}, [${below}, ${below}], ${body})`
      }, inner)
    const texts = [
      'a40 == b40',
      'a40 in [b40]',
      "{'x': a40} == {'x': b40}",
      'sets.contains([a40], [b40])',
    ]
    const all = texts.map((text) => nested('a', nested('b', text)))
    for (const text of [...all, 'jwt.groups.map(a, jwt.groups) == jwt.groups.map(a, jwt.groups)']) {
      for (const backend of ['generated', 'closures'] as const) {
        const { expression } = compile(text, STAGES.traffic, { backend, budget: 2_000 })
        assert.equal(expression?.evaluate()(variables), undefined)
        assert.equal(expression?.explain(variables).value, undefined)
      }
    }
    const plain = compile('jwt.groups == jwt.groups', STAGES.traffic)
    assert.equal(plain.expression?.predicate()(variables), true, 'the next one is not cut short')
  })

  it('explain does not exceed the budget in parts that evaluation skips', () => {
    const costly = 'jwt.groups.exists(a, jwt.groups.exists(b, a + b == "x"))'
    for (const [text, value] of [
      [`request.path == '' && ${costly}`, false],
      [`request.path != '' || ${costly}`, true],
      ["jwt.groups.exists(x, x == 'g0' || jwt.groups.exists(b, x + b == 'x'))", true],
    ] as const) {
      const { expression } = compile(text, STAGES.traffic, { budget: 2_000 })
      assert.equal(expression?.evaluate()(variables), value)
      assert.equal(expression?.explain(variables).value, value)
    }
  })

  it('an expression over its budget does not affect the next', () => {
    const costly = compile('jwt.groups.all(a, jwt.groups.all(b, a + b != "x"))', STAGES.traffic)
    const cheap = compile('jwt.groups.exists(a, a == "g7")', STAGES.traffic)
    assert.equal(costly.expression?.predicate()(variables), false)
    assert.equal(cheap.expression?.predicate()(variables), true)
  })
})

describe('explain', () => {
  const variables = {
    jwt: { sub: 'alice', groups: ['a'] },
    request: { path: '/x', headers: {} },
  } as unknown as Record<string, Value>
  for (const [text, cause] of [
    ["jwt.group == 'eng'", { kind: 'missing', path: 'jwt.group', present: ['sub', 'groups'] }],
    ["basicAuth.username == 'x'", { kind: 'unset', variable: 'basicAuth' }],
    ["destination.hostname == 'x'", { kind: 'unset', variable: 'destination' }],
    [
      "request.headers['x-a'] == 'x'",
      { kind: 'missing', path: "request.headers['x-a']", present: [] },
    ],
    [
      '1 / (size(request.path) - 2) == 1',
      { kind: 'error', reason: 'division by zero', detail: undefined },
    ],
    [
      "timestamp(jwt.sub) > timestamp('2026-01-01T00:00:00Z')",
      { kind: 'error', reason: 'invalid timestamp', detail: 'alice' },
    ],
  ] as const) {
    it(`${text}: ${JSON.stringify(cause)}`, () => {
      const { expression } = compile(text, STAGES.traffic)
      assert.deepEqual(expression?.explain(variables).cause, cause)
    })
  }
})

it('works where code generation from strings is disallowed', () => {
  const script = `
    import { compile } from './src/cel/compile.ts'
    import { STAGES } from './src/cel/stages.ts'
    const { expression } = compile("jwt.groups.exists(g, g == 'eng') && request.path.startsWith('/a')", STAGES.traffic)
    const variables = { jwt: { groups: ['eng'] }, request: { path: '/a/b' } }
    console.log(expression.predicate()(variables), expression.evaluate()(variables))
  `
  const flags = ['--disallow-code-generation-from-strings', '--input-type=module-typescript']
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', script], {
    encoding: 'utf8',
  })
  assert.equal(stdout, 'true true\n', stderr)
})
