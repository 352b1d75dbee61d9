import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { findCaptures } from './regex-captures.ts'
import { compilePattern, type Pattern } from './regex-pattern.ts'
import { compileProgram } from './regex-program.ts'
import type { Span } from './regex-span.ts'

const atom = fc.constantFrom(
  ...['a', 'b', '[ab]', '.', '\\w', '^', '$', '\\b', '\\B', '(?m:^)', '(?m:$)', 'é', '😀'],
  ...['[^a]', '(?i:k)', '(?s:.)', '', 'ab', '[b-é]', '\\d'],
)
const { pattern: patterns } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small' },
    atom,
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '*?', '{2,}'))
      .map(([own, times]) => `(?:${own})${times}`),
  ),
}))
const texts = fc.string({
  unit: fc.constantFrom(
    'a',
    'b',
    'A',
    'k',
    'K',
    '1',
    '\n',
    ' ',
    'é',
    '😀',
    '_',
    '-',
    ' '.repeat(150),
    'ab'.repeat(80),
    'bé'.repeat(80),
    'a😀'.repeat(70),
  ),
  maxLength: 16,
})

function run(pattern: Pattern, text: string, from: number, left = 1 << 24) {
  const steps = pattern.findSteps(text, from, { left })
  let count = 1
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) count++
  return { found: step.value, count }
}

describe('the search for spans', () => {
  it('finds what the group search finds, from any offset', () => {
    fc.assert(
      fc.property(patterns, texts, fc.nat(20), (source, text, offset) => {
        const pattern = compilePattern(source) as Pattern
        const program = compileProgram(source)
        if (program === undefined) return
        const from = Math.min(offset, text.length)
        const [start, end] = findCaptures(program, text, from) ?? []
        const expected = start === undefined ? null : ({ start, end } as Span)
        assert.deepEqual(run(pattern, text, from).found, expected)
      }),
      fuzz(1, 1_000),
    )
  })

  it('reads a long string in steps, each character once, whatever the match', () => {
    const unit = `${'x'.repeat(997)} secret-7, `
    const text = unit.repeat(1_000)
    const pattern = compilePattern('secret-[0-9]+|nothing at all') as Pattern
    const spans: Span[] = []
    const looks = { left: 1 << 24 }
    let count = 0
    for (let at = 0; ; ) {
      const steps = pattern.findSteps(text, at, looks)
      let step = steps.next()
      for (; step.done !== true; step = steps.next()) count++
      if (step.value === null || step.value === 'spent') break
      spans.push(step.value)
      at = step.value.end
    }
    assert.equal(spans.length, 1_000)
    // The characters between matches cost no looks.
    assert.ok((1 << 24) - looks.left < 100 * spans.length, `${(1 << 24) - looks.left} looks`)
    const none = run(compilePattern('(x|y)*0[,-]') as Pattern, text, 0)
    assert.equal(none.found, null)
    assert.ok(none.count > text.length / (1 << 16), `${none.count} steps`)
    assert.ok(count < 4 * none.count, `${count} steps`)
  })

  it('reads nothing if no match can end', () => {
    const text = 'x'.repeat(1 << 20)
    for (const source of ['(x|y)*z', '(x+x+)+y', '[a-z]{1,200}!', 'x(x*z)']) {
      const { found, count } = run(compilePattern(source) as Pattern, text, 0)
      assert.deepEqual([found, count], [null, 1], source)
    }
  })

  it('terminates if every character leads to a new state', () => {
    const pattern = compilePattern('(a|b)*a(a|b){14}c') as Pattern
    let random = 1
    const letters = Array.from({ length: 1 << 18 }, () => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fffffff
      return (random >> 16) & 1 ? 'a' : 'b'
    })
    const text = `${letters.join('')}c`
    const looks = { left: 1 << 17 }
    const steps = pattern.findSteps(text, 0, looks)
    let most = 0
    let before = looks.left
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) {
      most = Math.max(most, before - looks.left)
      before = looks.left
    }
    assert.equal(step.value, 'spent')
    assert.ok(most < 1 << 14, `${most} looks in one step`)
  })

  it('terminates if threads never end', () => {
    const text = 'a'.repeat(1 << 20)
    const { found, count } = run(compilePattern('a(.*b)?') as Pattern, text, 0, 1 << 17)
    assert.equal(found, 'spent')
    assert.ok(count > 8, `${count} steps`)
  })

  it('resumes at its position after other searches refill the state cache', () => {
    const source = '(a|b)*c[ab]{14}d'
    const pattern = compilePattern(source) as Pattern
    const text = `${'ab'.repeat(40_000)}cabababababababd${'ba'.repeat(100)}`
    const expected = run(compilePattern(source) as Pattern, text, 0).found
    const steps = pattern.findSteps(text, 0, { left: 1 << 24 })
    let step = steps.next()
    for (let round = 0; step.done !== true; round++) {
      // As many states as there are strings of fourteen letters.
      for (let n = 0; n < 400; n++) {
        pattern.matches(`c${(round * 7_919 + n * 104_729).toString(2).replaceAll('0', 'c')}`)
      }
      step = steps.next()
    }
    assert.deepEqual(step.value, expected)
    assert.deepEqual(expected, { start: 0, end: 80_016 })
  })
})
