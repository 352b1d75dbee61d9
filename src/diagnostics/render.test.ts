import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Diagnostic } from './diagnostic.ts'
import { renderCount, renderJson, renderTerminal } from './render.ts'

const ipAgainstText: Diagnostic = {
  code: 'PC0107',
  severity: 'error',
  message: 'cannot compare an IP address with a string',
  origin: { kind: 'file', file: 'gateway.yaml', line: 12, column: 24 },
  hint: "test the range with cidr('10.0.0.0/8').containsIP(source.address)",
  excerpt: { text: "source.address == '10.0.0.0/8'", start: 0, end: 30 },
}

function spanning(text: string, part: string): Diagnostic {
  const start = text.indexOf(part)
  return { ...ipAgainstText, excerpt: { text, start, end: start + part.length } }
}

/** Only the lines of the excerpt, without their frame. */
function drawn(diagnostic: Diagnostic, width = 100): readonly string[] {
  const lines = renderTerminal([diagnostic], { width }).split('\n')
  return lines.filter((line) => line.startsWith('  │')).map((line) => line.slice(4))
}

describe('the terminal form', () => {
  it('has code, message, place, text with carets, and hint', () => {
    assert.equal(
      renderTerminal([ipAgainstText]),
      [
        'error[PC0107]: cannot compare an IP address with a string',
        '  ┌ gateway.yaml:12:24',
        "  │ source.address == '10.0.0.0/8'",
        '  │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^',
        "  = hint: test the range with cidr('10.0.0.0/8').containsIP(source.address)",
      ].join('\n'),
    )
  })

  it('names the object and its field, and works without excerpt and hint', () => {
    assert.equal(
      renderTerminal([
        {
          code: 'PC0109',
          severity: 'warning',
          message: 'no',
          origin: { kind: 'object', object: 'ProxyPolicy default/a', field: 'spec.traffic' },
        },
        {
          code: 'PC0109',
          severity: 'info',
          message: 'yes',
          origin: { kind: 'object', object: 'ProxyPolicy default/b', field: '' },
        },
      ]),
      [
        'warning[PC0109]: no',
        '  ┌ ProxyPolicy default/a: spec.traffic',
        '',
        'info[PC0109]: yes',
        '  ┌ ProxyPolicy default/b',
      ].join('\n'),
    )
  })

  const carets: readonly (readonly [string, string, string, readonly string[]])[] = [
    ['a tab before the span counts as its columns', '\ta == b', '==', ['    a == b', '      ^^']],
    ['a tab inside the span is underlined whole', 'a\tb', '\t', ['a   b', ' ^^^']],
    ['wide characters take two columns', "'中文' == x", '==', ["'中文' == x", '       ^^']],
    ['wide characters are underlined twice', "'中文' + 1", "'中文'", ["'中文' + 1", '^^^^^^']],
    ['an astral character is one', "'𝒳' == x", '==', ["'𝒳' == x", '    ^^']],
    [
      'an emoji of several code points is two columns',
      '👩‍👩‍👧 == x',
      '==',
      ['👩‍👩‍👧 == x', '   ^^'],
    ],
    ['a combining mark takes none', "'e\u0301' == x", '==', ["'e\u0301' == x", '    ^^']],
    ['full-width letters take two', 'ＡＢ == x', '==', ['ＡＢ == x', '     ^^']],
    ['half of a grapheme is drawn as the whole', "'e\u0301'", '\u0301', ["'e\u0301'", ' ^']],
    ['a zero-width space is shown', 'a\u200bb', '\u200b', ['a\ufffdb', ' ^']],
    ['one line of several', 'a &&\n  b\n&& c', 'b', ['  b', '  ^']],
    [
      'a span over two lines leaves out the margin',
      'a && (b\n    || c) && d',
      '(b\n    || c)',
      ['a && (b', '     ^^', '    || c) && d', '    ^^^^^'],
    ],
    ['line ends of Windows are no characters', 'a &&\r\nb', 'b', ['b', '^']],
    ['a span that ends with its line', 'ab\ncd', 'ab\n', ['ab', '^^']],
    ['a blank line in a block has no caret', 'a(\n\nb)', '(\n\nb)', ['a(', ' ^', '', 'b)', '^^']],
  ]
  for (const [name, text, part, expected] of carets) {
    it(name, () => assert.deepEqual(drawn(spanning(text, part)), expected))
  }

  const points: readonly (readonly [string, string, number, number, readonly string[]])[] = [
    ['the end of the text gets one caret', 'a ==', 4, 4, ['a ==', '    ^']],
    ['an empty text gets one caret', '', 0, 0, ['', '^']],
    ['a point inside marks what stands there', 'a ? b', 2, 2, ['a ? b', '  ^']],
    ['a point in a new last line', 'a &&\n', 5, 5, ['', '^']],
    ['offsets behind the text are drawn at its end', 'ab', 7, 9, ['ab', '  ^']],
    ['offsets before the text are drawn at its start', 'ab', -3, -1, ['ab', '^']],
    ['an end before its start is a point', 'ab', 1, 0, ['ab', ' ^']],
  ]
  for (const [name, text, start, end, expected] of points) {
    it(name, () => {
      assert.deepEqual(drawn({ ...ipAgainstText, excerpt: { text, start, end } }), expected)
    })
  }

  it('shows the relevant part of a long line', () => {
    const text = `${'a || '.repeat(200)}oops${' || b'.repeat(200)}`
    const [line = '', marks = ''] = drawn(spanning(text, 'oops'), 40)
    assert.ok(line.startsWith('…') && line.endsWith('…'), line)
    assert.equal(line.length, 36)
    assert.equal(line.slice(marks.indexOf('^'), marks.lastIndexOf('^') + 1), 'oops')
  })

  it('shows the beginning of a span that is longer than the line', () => {
    const [line = '', marks = ''] = drawn(spanning(`ab${'c'.repeat(500)}`, 'c'.repeat(500)), 40)
    assert.equal(line, `ab${'c'.repeat(32)}…`)
    assert.equal(marks, `  ${'^'.repeat(32)}`)
  })

  it('omits the middle of a long block', () => {
    const text = Array.from({ length: 50 }, (_, i) => `line${i}`).join('\n')
    const lines = drawn({ ...ipAgainstText, excerpt: { text, start: 0, end: text.length } })
    assert.deepEqual(
      lines.filter((line) => !line.includes('^')),
      ['line0', 'line1', 'line2', 'line3', '⋮', 'line49'],
    )
  })

  it('draws a single line of one megabyte quickly', () => {
    const text = 'x'.repeat(1_000_000)
    const before = process.cpuUsage().user
    drawn({ ...ipAgainstText, excerpt: { text, start: 500_000, end: 1_000_000 } })
    assert.ok(process.cpuUsage().user - before < 500_000)
  })

  it('escapes control characters from the user', () => {
    const evil = 'a\x1b[2Jb\x9b1mc\u202ed\x7f\0\u2028'
    const text = renderTerminal([
      {
        code: 'PC0101',
        severity: 'error',
        message: `bad ${evil}`,
        origin: { kind: 'file', file: evil, line: 1, column: 1 },
        hint: `${evil}\nerror[PC0000]: not one of ours`,
        excerpt: { text: evil, start: 0, end: evil.length },
      },
    ])
    assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}|\p{Bidi_Control}|\u2028/u)
    assert.doesNotMatch(text, /^error\[PC0000\]/m)
    assert.match(text, /␛\[2J/)
  })

  it('is the plain form plus colors', () => {
    const coloured = renderTerminal([ipAgainstText], { colour: true })
    assert.ok(coloured.startsWith('\x1b[1;31merror[PC0107]\x1b[0m'))
    assert.equal(coloured.replaceAll(/\p{Cc}\[[\d;]+m/gu, ''), renderTerminal([ipAgainstText]))
  })

  it('draws any text and any offsets without throwing, one caret at least', () => {
    const text = fc.string({ unit: fc.oneof(fc.constantFrom('\n', '\t', '\r'), fc.string()) })
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: -2 }),
        fc.nat(99),
        fc.nat(300),
        (t, from, length, width) => {
          const start = t.length === 0 ? from : from % (t.length + 2)
          const excerpt = { text: t, start, end: start + length }
          assert.match(renderTerminal([{ ...ipAgainstText, excerpt }], { width }), /\^/)
        },
      ),
      { numRuns: 150 },
    )
  })
})

describe('the JSON form', () => {
  it('keeps every field, counts, and orders keys', () => {
    const { excerpt, hint, ...rest } = ipAgainstText
    const shuffled = { excerpt, hint, ...rest } as Diagnostic
    assert.equal(renderJson([shuffled]), renderJson([ipAgainstText]))
    assert.deepEqual(JSON.parse(renderJson([ipAgainstText])), {
      errors: 1,
      warnings: 0,
      infos: 0,
      diagnostics: [ipAgainstText],
    })
  })
})

describe('the summary count', () => {
  const warning: Diagnostic = { ...ipAgainstText, severity: 'warning' }
  const info: Diagnostic = { ...ipAgainstText, severity: 'info' }
  for (const [diagnostics, expected] of [
    [[], 'no errors'],
    [[ipAgainstText], '1 error'],
    [[ipAgainstText, ipAgainstText, warning], '2 errors, 1 warning'],
    [[warning, info, info], '1 warning, 2 notes'],
  ] as const) {
    it(expected, () => assert.equal(renderCount(diagnostics), expected))
  }
})
