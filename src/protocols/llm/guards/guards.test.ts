import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { runToCompletion } from '../../../model/steps.ts'
import type { StreamEvent } from '../neutral.ts'
import { patternRecognizer } from './guard-rule.ts'
import { maskSteps, maskText, StreamMasker } from './masker.ts'
import { RECOGNIZERS, type Recognizer, recognizersOf, searchEffort } from './recognizers.ts'
import { EventGuard } from './response-guard.ts'

const mask = (text: string): string => maskText(text, RECOGNIZERS).text

describe('recognizers', () => {
  for (const [text, expected] of [
    ['write to ann.b+c@mail.example.co.uk.', 'write to <EMAIL_ADDRESS>.'],
    ['a@b', 'a@b'],
    ['@example.com', '@example.com'],
    ['card 4111 1111 1111 1111, ok', 'card <CREDIT_CARD>, ok'],
    ['card 4111-1111-1111-1111', 'card <CREDIT_CARD>'],
    ['5500005555555559', '<CREDIT_CARD>'],
    ['378282246310005', '<CREDIT_CARD>'],
    ['4111 1111 1111 1112', '4111 1111 1111 1112'],
    ['0000000000000000', '0000000000000000'],
    ['ssn 123-45-6789', 'ssn <SSN>'],
    ['000-12-3456', '000-12-3456'],
    ['666-12-3456', '666-12-3456'],
    ['1123-45-67890', '1123-45-67890'],
    ['046 454 286', '046 454 286'],
    ['130 692 544', '<CA_SIN>'],
    ['iban DE89 3704 0044 0532 0130 00.', 'iban <IBAN>.'],
    ['GB82WEST12345698765432', '<IBAN>'],
    ['GB83WEST12345698765432', 'GB83WEST12345698765432'],
    ['call +1 (555) 123-4567 now', 'call <PHONE_NUMBER> now'],
    ['call 555-123-4567', 'call <PHONE_NUMBER>'],
    ['+44 20 7946 0958', '<PHONE_NUMBER>'],
    ['version 1.2.3 of 2024-01-02', 'version 1.2.3 of 2024-01-02'],
    [`key sk-ant-api03-${'a1B2'.repeat(8)}!`, 'key <API_KEY>!'],
    [`sk-${'a'.repeat(200)}`, `<API_KEY>${'a'.repeat(20)}`],
    ['AKIAIOSFODNN7EXAMPLE', '<API_KEY>'],
    [`ghp_${'a1B2'.repeat(9)}`, '<API_KEY>'],
    ['task-force-one-two-three-four-five', 'task-force-one-two-three-four-five'],
    ['nothing here', 'nothing here'],
  ] as const) {
    it(text, () => {
      assert.equal(mask(text), expected)
    })
  }

  it('are found by name', () => {
    assert.equal(recognizersOf('email')[0]?.mask, '<EMAIL_ADDRESS>')
    assert.deepEqual(recognizersOf('nothing'), [])
  })

  it('find nothing beyond their max length, in time linear in the text', () => {
    for (const unit of [
      '1',
      '1 ',
      '1-',
      'a',
      'a@',
      'a.',
      'A1',
      'sk-',
      '(1',
      '+1',
      '@a.',
      'DE89 ',
    ]) {
      const text = unit.repeat(Math.ceil(200_000 / unit.length))
      const before = process.cpuUsage().user
      for (const recognizer of RECOGNIZERS) {
        const found = recognizer.find(text, 0)
        if (found !== undefined) assert.ok(found.end - found.start <= recognizer.maxLength)
      }
      assert.ok(process.cpuUsage().user - before < 4_000_000, unit)
    }
  })
})

/** The plain patterns; the gateway tries them only where they can begin. */
const PLAIN: readonly (readonly [string, RegExp])[] = [
  [
    'apiKey',
    /(?<![\w-])(?:sk-[\w-]{20,180}|gh[pousr]_[a-zA-Z0-9]{36,100}|github_pat_\w{22,100}|xox[abprs]-[\w-]{10,100}|glpat-[\w-]{20,40}|hf_[a-zA-Z0-9]{30,40}|(?:AKIA[0-9A-Z]{16}|AIza[\w-]{35})(?![\w-]))/g,
  ],
  ['iban', /(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)/g],
  ['creditCard', /(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])/g],
  ['ssn', /(?<![\w-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])/g],
  ['caSin', /(?<![\w-])[1-79]\d{2}([- ])\d{3}\1\d{3}(?![\w-])/g],
  [
    'phoneNumber',
    /(?<![\w.+-])(?<!\d )(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)|\d{2,4})[ .-]?\d{3,4}[ .-]\d{3,4}(?![\w-]|[ .]\d)/g,
  ],
]

describe('where recognizers search', () => {
  const digits = fc.stringMatching(/^\d{1,6}$/)
  const pieces = fc.oneof(
    digits,
    fc.constantFrom(' ', '-', '.', '(', ')', '+', '  ', ', ', 'x', '_', 'A', 'AB', 'DE89', '\n'),
    fc.constantFrom('555-123-4567', '123-45-6789', '130 692 544', '4111 1111 1111 1111'),
    fc.constantFrom('+1 (555) ', '+15551234 5678', '(0555)', '2024-01-02 10.30'),
    fc.constantFrom('sk-', 'ghp_', 'github_pat_', 'xoxb-', 'glpat-', 'hf_', 'AKIA', 'AIza'),
    fc.constantFrom('a1B2'.repeat(9), 'ABCD1234'.repeat(2), 'abcdefghij', 'é', '🌍'),
    fc.constantFrom('GB82WEST12345698765432', 'DE89 3704 0044 0532 0130 00'),
  )
  const text = fc.array(pieces, { maxLength: 24 }).map((all) => all.join(''))

  for (const [name, pattern] of PLAIN) {
    const recognizer = recognizersOf(name)[0] as Recognizer

    /** The first position where the pattern matches and the recognizer's checks pass. */
    const plainly = (whole: string, from: number) => {
      pattern.lastIndex = from
      for (let match = pattern.exec(whole); match !== null; match = pattern.exec(whole)) {
        const [found] = match
        // The match alone is checked in the same way.
        const checked = recognizer.find(found, 0)
        if (checked?.start === 0 && checked.end === found.length) {
          return { start: match.index, end: match.index + found.length }
        }
        pattern.lastIndex = match.index + 1
      }
      return undefined
    }

    it(`is everywhere where there is something to find: ${name}`, () => {
      fc.assert(
        fc.property(text, fc.nat(12), (whole, from) => {
          assert.deepEqual(recognizer.find(whole, from), plainly(whole, from))
        }),
        { numRuns: 1500 },
      )
    })
  }

  it('excludes words and tables of numbers', () => {
    for (const unit of [
      'Some words, and hidden things (2 or 3) as usual. ',
      '12.5 13.75 1024.25 7.1 ',
      '1999;2024;31;7,5;"a"\n',
      '2024-01-02T10:30:00Z 200 GET /a/b ',
    ]) {
      const effort = searchEffort()
      const given = effort.left
      const whole = unit.repeat(4_000)
      assert.equal(maskText(whole, RECOGNIZERS, effort).text, whole)
      assert.ok(given - effort.left < 100, `${unit}: ${given - effort.left}`)
    }
  })

  it('is the same at any position of a long text, in any context', () => {
    // Around the ends of the parts that are walked, and loaded, at once.
    const ends = [1 << 12, 1 << 13, 1 << 16, (1 << 16) + (1 << 12), 1 << 17]
    const filler = fc.constantFrom('a', '1', '1 ', '12,', 'sk', '城', 'ä ', '. ')
    fc.assert(
      fc.property(text, filler, fc.constantFrom(...ends), fc.nat(80), (own, unit, end, shift) => {
        const before = `${unit.repeat(end / unit.length)}, `.slice(Math.max(0, shift - 40))
        const after = `, ${'b '.repeat(40_000)}`
        const effort = { left: 1 << 30 }
        const masked = runToCompletion(maskSteps(before + own + after, RECOGNIZERS, effort)).text
        const parts = [before, own, after].map((part) => maskText(part, RECOGNIZERS, effort).text)
        // Both are delimited by commas, which no finding crosses.
        assert.equal(masked, parts.join(''))
      }),
      { numRuns: 60 },
    )
  })

  it('stays within the search effort, and requires no scan for patterns', () => {
    const walked = (recognizers: readonly Recognizer[], unit: string) => {
      const steps = maskSteps(unit.repeat((2 << 20) / unit.length), recognizers, searchEffort())
      let count = 0
      while (steps.next().done !== true) count++
      return count
    }
    const email = recognizersOf('email')
    assert.ok(walked(email, 'aa') < 2, 'an address needs no walk')
    assert.ok(walked([patternRecognizer('(a|b)*c', 'X')], 'aa') < 2, 'nor does a pattern')
    const all = walked(RECOGNIZERS, '1,')
    assert.ok(all >= 32, `${all} steps for all of it`)
    const effort = searchEffort()
    const steps = maskSteps('1 '.repeat(1 << 20), RECOGNIZERS, effort)
    let afterSpent = 0
    for (let step = steps.next(); step.done !== true; step = steps.next()) {
      if (effort.left <= 0) afterSpent++
    }
    assert.ok(effort.left <= 0)
    assert.ok(afterSpent < 8, `${afterSpent} steps after there was nothing left to search with`)
  })

  it('is the same when a long text is searched in steps', () => {
    const whole = 'write to a@b.example or call 555-123-4567, please; '.repeat(6_000)
    const steps = maskSteps(whole, RECOGNIZERS, { left: 1 << 30 })
    let count = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) count++
    assert.ok(count >= whole.length / (1 << 16), `${count} steps`)
    const masked = 'write to <EMAIL_ADDRESS> or call <PHONE_NUMBER>, please; '.repeat(6_000)
    assert.equal(step.value.text, masked)
  })
})

describe('the cost of a text with many findings', () => {
  /** The number of characters that recognizers search in a text with this many findings. */
  function searched(findings: number): number {
    let letters = 0
    const counting = (inner: Recognizer): Recognizer => ({
      ...inner,
      find(text, from) {
        const found = inner.find(text, from)
        letters += (found?.end ?? text.length) - from
        return found
      },
    })
    const text = 'a@b.co and more, '.repeat(findings)
    assert.equal(maskText(text, RECOGNIZERS.map(counting)).found.length, 1)
    return letters / text.length
  }

  it('grows linearly with its length', () => {
    const [few, many] = [searched(10), searched(2_000)]
    assert.ok(many < 2 * few, `each letter is searched ${few} and ${many} times`)
  })

  /** The rest of a long text of these: all of it is harmless, but verifying that takes long. */
  for (const [what, unit, recognizers] of [
    ['numbers', '1 ', RECOGNIZERS],
    ['what is nearly an IBAN', 'AB12 ', RECOGNIZERS],
    ['addresses', 'a@b.co ', RECOGNIZERS],
    ['an alternative that never ends', 'a', [patternRecognizer('a(.*b)?', 'X')]],
    ['one letter', 'a', [patternRecognizer('a', 'X')]],
  ] as const) {
    it(`has an end, and what was not searched is masked: ${what}`, () => {
      const effort = searchEffort()
      const given = effort.left
      const [long, short] = [2 << 20, 200].map((length) => {
        const text = unit.repeat(length / unit.length)
        const before = process.cpuUsage().user
        const masked = maskText(text, recognizers, effort)
        assert.ok(process.cpuUsage().user - before < 1_000_000, 'CPU time of the search')
        return masked
      })
      assert.ok(effort.left < 0, `${effort.left} of ${given} are left`)
      assert.ok(long !== undefined && long.text.length < (2 << 20) / 2)
      assert.deepEqual(short?.found.length, 1, 'texts of one request share it')
    })
  }

  it('does not exhaust the search effort for words, however many', () => {
    const text = 'Some words, and more of them (2 or 3). '.repeat(50_000)
    assert.equal(maskText(text, RECOGNIZERS).text, text)
  })
})

const WORDS = [
  'hello ',
  'a.b@example.com',
  '4111 1111 1111 1111',
  '4111111111111111',
  '123-45-6789',
  'DE89 3704 0044 0532 0130 00',
  '+1 555 123 4567',
  'sk-abcdefghijklmnopqrstuvwx',
  '130 692 544',
  ' ',
  '  ',
  ', ',
  '.',
  '-',
  '\n',
  'ä',
  '🌍',
  '12',
  'X',
  'DE',
  '@',
]

describe('masking a stream', () => {
  it('yields the same for any pieces', () => {
    const text = fc.array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 4 })), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(text, fc.array(fc.nat(9)), (words, sizes) => {
        const whole = words.join('')
        const masker = new StreamMasker(RECOGNIZERS)
        let out = ''
        let at = 0
        for (const size of sizes) {
          out += masker.push(whole.slice(at, at + size))
          at += size
        }
        out += masker.push(whole.slice(at)) + masker.end()
        assert.equal(out, mask(whole))
        const single = new StreamMasker(RECOGNIZERS)
        let letters = ''
        for (const letter of whole.split('')) letters += single.push(letter)
        assert.equal(letters + single.end(), mask(whole))
      }),
      { numRuns: 2000 },
    )
  })

  it('keeps the context before a piece that was released', () => {
    for (const word of ['123-45-6789', '4111111111111111', '130 692 544', '555-123-4567']) {
      const whole = `${'A'.repeat(400)}${word} ${'B'.repeat(400)}`
      const masker = new StreamMasker(RECOGNIZERS)
      let out = ''
      for (const letter of whole) out += masker.push(letter)
      assert.equal(out + masker.end(), whole)
      assert.equal(mask(whole), whole)
    }
  })

  it('equals a search of the whole text', () => {
    const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 12 })
    fc.assert(
      fc.property(text, (words) => {
        const whole = words.join('')
        let expected = ''
        let at = 0
        while (at < whole.length) {
          const found = RECOGNIZERS.map((it) => ({ it, ...it.find(whole, at) })).filter(
            (it) => it.start === at,
          )
          const longest = found.toSorted((a, b) => (b.end ?? 0) - (a.end ?? 0))[0]
          expected += longest === undefined ? whole[at] : longest.it.mask
          at = longest?.end ?? at + 1
        }
        assert.equal(mask(whole), expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('releases words at once and holds only possible findings', () => {
    const masker = new StreamMasker(RECOGNIZERS)
    assert.equal(masker.push('The quick brown fox '), 'The quick brown fox ')
    assert.equal(masker.push('has the card 4111 1111'), 'has the card ')
    assert.equal(masker.push(' 1111 1111'), '')
    assert.equal(masker.push(' and'), ' <CREDIT_CARD> '.slice(1))
    assert.equal(masker.end(), 'and')
    assert.deepEqual(masker.found, ['creditCard'])
  })

  it('never holds more than the longest finding', () => {
    const masker = new StreamMasker(RECOGNIZERS)
    let out = 0
    for (let at = 0; at < 10_000; at++) out += masker.push('1').length
    assert.ok(out > 9_000)
  })
})

describe('user-defined patterns', () => {
  const secret = patternRecognizer('pro(ject|gram) +[a-z]+[0-9]?', 'SECRET')
  const words = fc.constantFrom('pro', 'ject', 'gram', ' ', 'zeus', '7', ', ', 'a', 'project x')

  it('mask the same in a stream, however it is split', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 40 }), (pieces) => {
        const expected = maskText(pieces.join(''), [secret]).text
        const guard = new EventGuard([{ recognizers: [secret], rejection: undefined }])
        const events: StreamEvent[] = [
          { kind: 'blockStart', block: 0, part: { kind: 'text' } },
          ...pieces.map((text) => ({ kind: 'delta', block: 0, text }) as const),
          { kind: 'blockEnd', block: 0 },
          { kind: 'end' },
        ]
        const out = events.flatMap((event) => guard.filter([event]))
        const text = out.map((event) => (event.kind === 'delta' ? event.text : '')).join('')
        assert.equal(text, expected)
      }),
    )
  })

  it('release nothing of a rejected match, and end with the error', () => {
    const rejection = { status: 403, type: 'invalidRequest', message: 'no' } as const
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 9 }), (sizes) => {
        let rest = 'tell of project zeus and more'
        const pieces = sizes.map((size) => {
          const piece = rest.slice(0, size)
          rest = rest.slice(size)
          return piece
        })
        const guard = new EventGuard([{ recognizers: [secret], rejection }])
        guard.filter([{ kind: 'blockStart', block: 0, part: { kind: 'text' } }])
        const deltas = [...pieces, rest].map((text) => ({ kind: 'delta', block: 0, text }) as const)
        const out = guard.filter([...deltas, { kind: 'blockEnd', block: 0 }, { kind: 'end' }])
        assert.deepEqual(out.at(-1), { kind: 'error', error: rejection })
        const text = out.map((event) => (event.kind === 'delta' ? event.text : '')).join('')
        assert.ok('tell of '.startsWith(text), text)
      }),
    )
  })
})
