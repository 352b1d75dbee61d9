import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RE2JS } from '@bufbuild/re2'
import fc from 'fast-check'
import { failure } from '../values/failure.ts'
import { counted, fuel } from '../values/fuel.ts'
import { REGEX } from './regex.ts'
import { Automaton } from './regex-automaton.ts'
import { compileLiteral } from './regex-literal.ts'
import { compilePattern, dynamicPattern } from './regex-pattern.ts'
import { compileProgram, MAX_PROGRAM, type Program } from './regex-program.ts'
import { regexSize } from './regex-size.ts'

const [overload] = REGEX.functions[0]?.overloads ?? []
if (overload?.prepare === undefined) throw new Error('matches is not prepared')
const { call, prepare } = overload

function automaton(pattern: string): Automaton {
  return new Automaton(compileProgram(pattern) as Program)
}

function milliseconds(run: () => void): number {
  const start = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

describe('matches', () => {
  for (const [text, pattern, expected] of [
    ['hubba', 'ubb', true],
    ['', 'foo|bar', false],
    ['cows', '', true],
    ['', '', true],
    ['grey', 'gr(a|e)y', true],
    ['banana', 'ba(na)*', true],
    ['mañana', 'a+ñ+a+', true],
    ['🐱😀😀', '(a|😀){2}', true],
    ['🐱', '^.$', true],
    ['a\nb', 'a.b', false],
    ['a\nb', '(?s)a.b', true],
    ['a\nb', '^b', false],
    ['a\nb', '(?m)^b$', true],
    ['a\n', 'a$', false],
    ['a b', '\\ba\\b', true],
    ['ab', 'a\\b', false],
    ['ab', 'a\\B', true],
    ['', '\\b', false],
    ['x', '^(?:a|b)|x$', true],
    ['K', '(?i)^\u212a$', true],
    ['ſ', '(?i)^S$', true],
    ['ΣΙΣΥΦΟΣ', '(?i)^σισυφος$', true],
    ['日本', '^\\p{Han}+$', true],
    ['a.b', '^\\Qa.b\\E$', true],
    ['axb', '^\\Qa.b\\E$', false],
    ['ab', '^[^b]b$', true],
    ['aaa', '^a{2,3}$', true],
    ['aaaa', '^a{2,3}$', false],
    ['anything', '[^\\x00-\\x{10FFFF}]', false],
  ] as const) {
    it(`'${text}' and ${pattern}: ${expected}`, () => {
      assert.equal(call(text, pattern), expected)
      assert.equal(prepare([undefined, pattern])?.(text, pattern), expected)
    })
  }

  for (const pattern of [
    '(',
    'a**',
    '[z-a]',
    '\\8',
    '(?=a)',
    '(?<!a)b',
    'a{1001}',
    '\\',
    '(a)\\1',
  ]) {
    it(`rejects ${pattern}`, () => {
      for (const reject of [() => call('a', pattern), () => prepare([undefined, pattern])]) {
        failure.reason = ''
        assert.equal(reject(), undefined)
        assert.equal(failure.reason, 'invalid regular expression')
        assert.notEqual(failure.detail, '')
      }
    })
  }

  it('leaves patterns that are not constant to the call', () => {
    failure.reason = ''
    assert.equal(prepare(['text', undefined]), undefined)
    assert.equal(failure.reason, '')
  })

  it('rejects a dynamic pattern of more than 1,000 characters', () => {
    assert.equal(call('a', 'a'.repeat(1000)), false)
    assert.equal(call('a', 'a'.repeat(1001)), undefined)
  })

  it('evicts dynamic patterns, with unchanged results and cost', () => {
    const costs = new Set<number>()
    for (let i = 0; i < 300; i++) {
      for (const text of [`a${i % 100}b`, 'none']) {
        fuel.left = 0
        assert.equal(call(text, `^a${String(i % 100).padStart(3, '0')}[bc]$`), false)
        assert.equal(call(text, `^a0*${i % 100}[bc]$`), text !== 'none')
        if (text === 'none') costs.add(fuel.left)
      }
      assert.equal(dynamicPattern('(')?.groups, undefined)
    }
    assert.equal(costs.size, 2)
  })
})

describe('the cost of regular expressions', () => {
  for (const pattern of [
    '((a{100}){100}){100}',
    `(${'x'.repeat(900)}){1000}`,
    '(\\pL{1000}){30}',
    `(?i)${'[a-\\x{1E943}]'.repeat(70)}`,
    `(?i)${'\\pL'.repeat(300)}`,
    `${'('.repeat(5000)}${')'.repeat(5000)}`,
    '((((x{1,9}){1,9}){1,9}){1,9})',
    `${'(?:'.repeat(99)}a${'){2}'.repeat(99)}`,
    'a'.repeat(10_001),
  ]) {
    it(`rejects ${pattern.slice(0, 30)}… at once`, () => {
      const spent = milliseconds(() => assert.equal(compilePattern(pattern), undefined))
      assert.ok(spent < 100, `${spent} ms`)
    })
  }

  it('is bounded by the program and its input', () => {
    assert.ok((compileProgram('^[a-z]{1,1000}$')?.op.length ?? 0) <= MAX_PROGRAM)
    assert.equal(compilePattern('^[a-z]{1,1000}$')?.matches('a'.repeat(1000)), true)
    assert.equal(compilePattern('^[a-z]{1,1000}$')?.matches('a'.repeat(1001)), false)
  })

  for (const [pattern, text] of [
    ['^(a+)+$', 'a'],
    ['^(a|a)*$', 'a'],
    ['(x+x+)+y', 'x'],
    ['^(?:[^/]+/)*[^/!]+$', 'ab/'],
    ['\\b(?:a|b)+\\b!$', 'ab'],
    ['(?i)^(?:é|É)+$', 'é'],
  ] as const) {
    it(`${pattern} takes ten times as long for a text ten times as long`, () => {
      const { matches } = compilePattern(pattern) ?? assert.fail()
      const texts = [10_000, 100_000].map((length) => `${text.repeat(length / text.length)}!?`)
      const times = texts.map((long) => {
        matches(long)
        return milliseconds(() => {
          for (let i = 0; i < 10; i++) assert.equal(matches(long), false)
        })
      })
      // 200 ns per character is many times the actual cost; quadratic time would take minutes.
      assert.ok((times[1] as number) < 10 * 100_000 * 2e-4, `${times[1]} ms`)
    })
  }

  it('stores at most 32,768 numbers for a pattern, whatever the input', () => {
    const greedy = automaton('(a|b)*a(a|b){13}c')
    let random = 1
    let max = 0
    for (let round = 0; round < 20; round++) {
      let text = ''
      for (let i = 0; i < 2000; i++) {
        random = Math.imul(random, 1103515245) + 12345
        text += random & 0x10000 ? 'a' : 'b'
      }
      assert.equal(greedy.matches(text), false)
      max = Math.max(max, greedy.cached)
    }
    assert.ok(max > 30_000 && max <= 32_768, String(max))
  })

  it('does not grow with the number of different characters', () => {
    const any = automaton('^(?:[^x]*y)*[^x]*$')
    let text = ''
    for (let code = 0x80; code < 0x30000; code++) {
      if (code < 0xd800 || code > 0xdfff) text += String.fromCodePoint(code)
    }
    assert.equal(any.matches(text), true)
    assert.ok(any.cached < 200, String(any.cached))
  })

  it('limits the input only of a pattern with too many states', () => {
    // Every few letters reach a new state.
    let hostile = ''
    for (let n = 1; hostile.length < 50_000; n = (n * 16_807) % 2_147_483_647) {
      hostile += n & 64 ? 'a' : 'b'
    }
    for (const [pattern, text, isSpent] of [
      ['^(a|b)*c[0-9]{20}$', hostile, false],
      ['(a|b)*a(a|b){20}c', 'ab'.repeat(25_000), false],
      ['(a|b)*a(a|b){20}c', hostile, true],
    ] as const) {
      const matches = compilePattern(pattern)?.matches
      assert.equal(
        counted({}, 100_000, () => matches?.(text)),
        false,
      )
      assert.equal(fuel.left < 0, isSpent, pattern)
    }
  })
})

const atom = fc.constantFrom(
  ...['a', 'b', '.', '[ab]', '[^a]', '\\d', '\\w', '\\n', 'é', '😀', '^', '$', '\\b', '\\B', ''],
  ...['(?i:A)', '(?i:k)', '(?s:.)', '(?m:^)', '(?m:$)', '\\A', '\\z', '\\pL', '[[:alpha:]]', '-'],
)
const { pattern: patterns } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atom,
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '*?', '{2,}'))
      .map(([a, repeat]) => `(${a})${repeat}`),
  ),
}))
const texts = fc.string({
  unit: fc.constantFrom('a', 'b', 'A', 'k', '\u212a', '1', '\n', ' ', 'é', '😀', '_', '-'),
  maxLength: 12,
})

describe('the size of a pattern', () => {
  it('is never estimated below that of its program', () => {
    fc.assert(
      fc.property(patterns, (pattern) => {
        const { op } = compileProgram(pattern) as Program
        assert.ok(regexSize(pattern).instructions >= op.length)
      }),
      { numRuns: 150 },
    )
  })

  for (const [pattern, instructions] of [
    ['\\Q(a{9}){9}\\E', 20],
    ['[]a{9}]{9}', 40],
    ['[^]{9}]', 10],
    ['[[:alpha:]{9}]', 10],
    ['\\x{10FFFF}\\p{Greek}', 10],
    ['(?P<name>a{9})', 40],
    ['a{,9}b{c}', 20],
  ] as const) {
    it(`${pattern} is not taken for more than ${instructions} instructions`, () => {
      assert.ok(regexSize(pattern).instructions <= instructions)
      assert.ok(regexSize(pattern).instructions >= (compileProgram(pattern)?.op.length ?? 99))
    })
  }
})

describe('the automaton', () => {
  it('agrees with the reference engine on any pattern and input', () => {
    fc.assert(
      fc.property(patterns, fc.array(texts, { minLength: 1, maxLength: 4 }), (pattern, list) => {
        const own = automaton(pattern)
        const reference = RE2JS.compile(pattern)
        for (const text of list) assert.equal(own.matches(text), reference.test(text), text)
      }),
      { numRuns: 150 },
    )
  })

  it('returns the same result once its states are cached', () => {
    fc.assert(
      fc.property(patterns, texts, (pattern, text) => {
        const own = automaton(pattern)
        const before = own.matches(text)
        assert.equal(own.matches(text), before)
      }),
      { numRuns: 200 },
    )
  })
})

describe('patterns without an engine', () => {
  for (const [pattern, literal] of [
    ['^/api/', true],
    ['\\.json$', true],
    ['^exact$', true],
    ['text', true],
    ['^/v1/.*', true],
    ['^.*\\.internal$', true],
    ['.*', true],
    ['^\\/v1\\/a\\-b$', true],
    ['a|b', false],
    ['a+', false],
    ['(?i)a', false],
    ['a.b', false],
    ['^a.*b$', false],
    ['\\d', false],
    ['a.*?', false],
    ['a^', false],
    ['$a', false],
    ['a\\', false],
  ] as const) {
    it(`${pattern}: ${literal ? 'literal' : 'compiled'}`, () => {
      assert.equal(compileLiteral(pattern) !== undefined, literal)
    })
  }

  it('match as the engine does on any input', () => {
    const piece = fc.constantFrom('a', '/', '\\.', '\n', '\\-', 'é', '😀', 'ab', '_')
    const literals = fc
      .tuple(
        fc.constantFrom('', '^', '.*', '^.*'),
        fc.array(piece, { maxLength: 4 }),
        fc.constantFrom('', '$', '.*', '.*$'),
      )
      .map(([start, pieces, end]) => start + pieces.join('') + end)
    const subjects = fc
      .array(fc.constantFrom('a', '/', '.', '\n', '-', 'é', '😀', 'b', '_'), { maxLength: 8 })
      .map((units) => units.join(''))
    fc.assert(
      fc.property(literals, subjects, (pattern, text) => {
        const literal = compileLiteral(pattern)
        if (literal === undefined) return assert.match(pattern, /\n/)
        assert.equal(literal(text), automaton(pattern).matches(text))
        assert.equal(literal(text), RE2JS.compile(pattern).test(text))
      }),
      { numRuns: 150 },
    )
  })
})
