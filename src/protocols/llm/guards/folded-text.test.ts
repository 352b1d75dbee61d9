import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { runToCompletion } from '../../../model/steps.ts'
import { foldingsOf, isPlain } from './folded-text.ts'
import { patternRecognizer, withAnySpaces } from './guard-rule.ts'
import { findSteps, maskSteps, maskText, StreamMasker } from './masker.ts'
import { RECOGNIZERS, searchEffort } from './recognizers.ts'

const ORION = patternRecognizer('(?i)project orion', 'SECRET')
const mask = (text: string) => maskText(text, [ORION, ...RECOGNIZERS]).text
const escaped = (text: string) =>
  [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const tags = [...'project orion']
  .map((one) => String.fromCodePoint(0xe0000 + (one.codePointAt(0) as number)))
  .join('')

describe('a text that a model reads as another', () => {
  for (const [what, text, expected] of [
    ['full-width letters', 'ｐｒｏｊｅｃｔ　ｏｒｉｏｎ', '<SECRET>'],
    ['zero-width characters', 'a pro\u200bje\u2060ct \ufefforion b', 'a <SECRET> b'],
    ['soft hyphens', 'pro\u00adject ori\u00adon', '<SECRET>'],
    ['a space that does not break', 'project\u00a0orion', '<SECRET>'],
    ['two spaces', 'project  orion', '<SECRET>'],
    ['a line end', 'the project\n   orion.', 'the <SECRET>.'],
    ['Cyrillic letters', 'prоjесt оriоn', '<SECRET>'],
    ['Greek letters', 'prοject οriοn', '<SECRET>'],
    ['mathematical letters', '𝐩𝐫𝐨𝐣𝐞𝐜𝐭 𝓸𝓻𝓲𝓸𝓷', '<SECRET>'],
    ['tag characters', `x${tags}y`, 'x<SECRET>y'],
    ['tag characters in between', `pro\u{e0041}ject orion`, '<SECRET>'],
    ['marks', 'p\u0336r\u0336o\u0336j\u0336e\u0336c\u0336t\u0336 orion', '<SECRET>'],
    ['a control character', 'proj\u0008ect orion', '<SECRET>'],
    ['escapes of JSON', '{"a":"\\u0070roject orion"}', '{"a":"<SECRET>"}'],
    ['nothing but escapes', `{"a":"${escaped('project orion')}"}`, '{"a":"<SECRET>"}'],
    ['an escaped line end', '"project\\norion"', '"<SECRET>"'],
    ['escapes in escapes', '"{\\"a\\":\\"\\\\u0070roject orion\\"}"', '"{\\"a\\":\\"<SECRET>\\"}"'],
    ['an address', 'ann＠example．com', '<EMAIL_ADDRESS>'],
    ['a card in full-width digits', '４１１１ １１１１ １１１１ １１１１', '<CREDIT_CARD>'],
    ['a card in Arabic digits', '٤١١١ ١١١١ ١١١١ ١١١١', '<CREDIT_CARD>'],
    ['a card with dots', 'pay 4111.1111.1111.1111 now', 'pay <CREDIT_CARD> now'],
    ['a card with two spaces', '4111  1111  1111  1111', '<CREDIT_CARD>'],
    ['a card with dashes', '4111–1111–1111–1111', '<CREDIT_CARD>'],
    ['a short card with dots', '3782.822463.10005', '<CREDIT_CARD>'],
    ['no card', '4111.1111.1111.1112 and 1.2.3.4', '4111.1111.1111.1112 and 1.2.3.4'],
    ['ordinary text', 'Zoë – “größer” … 城市 Привет', 'Zoë – “größer” … 城市 Привет'],
  ] as const) {
    it(what, () => {
      assert.equal(mask(text), expected)
      assert.equal(masked(text, 1), expected, 'in a stream, one character at a time')
    })
  }

  it('matches a pattern as it is written, too', () => {
    const find = (pattern: string, text: string) =>
      maskText(text, [patternRecognizer(pattern, 'X')]).text
    assert.equal(find('проект орион', 'о проект орион!'), 'о <X>!')
    assert.equal(find('Müller', 'Herr Mu\u0308ller'), 'Herr <X>')
    assert.equal(find('Müller', '{"name": "M\\u00fcller"}'), '{"name": "<X>"}')
    assert.equal(find('\\\\u0070', 'a \\u0070'), 'a <X>')
    assert.equal(find('ｘ', 'ｘy'), '<X>y')
  })

  it('keeps the meaning of patterns when spaces stand for any number of them', () => {
    for (const [pattern, expected] of [
      ['a b', 'a(?:\\s+)b'],
      ['a b*', 'a(?:\\s+)b*'],
      ['[ab ]c', '[ab ]c'],
      ['[^] ]c', '[^] ]c'],
      ['[[:alpha:] ] x', '[[:alpha:] ](?:\\s+)x'],
      ['a\\ b', 'a\\ b'],
      ['\\Qa b\\E c', '\\Qa b\\E(?:\\s+)c'],
    ] as const) {
      assert.equal(withAnySpaces(pattern), expected)
    }
    assert.equal(maskText('a  b', [patternRecognizer('a {2}b', 'X')]).text, '<X>')
  })

  const letters = fc.constantFrom(
    ...['p', 'ｐ', 'r', '\u200b', '\\u0070', '\\', 'u', '0', 'o', 'о', '\u0301', ' ', '\u00a0'],
    ...['@', 'a', '.', 'com', '4111', ' 1111', '１', 'n', '"', '\\"', '\u{e0061}', '城', '한'],
  )

  it('is a copy whose characters know where they come from', () => {
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 30 }), (parts) => {
        const text = parts.join('')
        const all = foldingsOf(text)
        if (isPlain(text)) assert.equal(all.length, 0)
        for (const folded of all) {
          let last = 0
          for (let at = 0; at < folded.text.length; at++) {
            const [start, end] = [folded.startOf(at), folded.endOf(at)]
            assert.ok(start >= last && end > start && end <= text.length)
            last = start
          }
        }
      }),
    )
  })

  it('is found in a long text as in a short one', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.constantFrom(1 << 14, 1 << 15, 1 << 16), (shift, end) => {
        const secret = 'pro\u200bject οrion'
        const before = `${'ж '.repeat(end / 2 - 20)}${' '.repeat(shift)}`
        const long = `${before}${secret}${' ж'.repeat(9_000)}`
        const found = runToCompletion(findSteps(long, [ORION], searchEffort()))
        assert.deepEqual(found, [
          { name: 'SECRET', mask: '<SECRET>', start: before.length, end: before.length + 14 },
        ])
      }),
      { numRuns: 20 },
    )
  })

  it('takes time that is linear in the text', () => {
    for (const unit of [
      'a\u0316\u0301\u0317\u0302',
      '\u0301',
      '\u200b',
      '\\u0070',
      '\\\\\\\\u0070',
      '\u1112\u1161\u11ab',
      '\ufdfa',
      '\u{e0070}',
      '\\',
    ]) {
      const text = unit.repeat(Math.ceil(200_000 / unit.length))
      const before = process.cpuUsage().user
      runToCompletion(maskSteps(text, RECOGNIZERS, searchEffort()))
      assert.ok(process.cpuUsage().user - before < 4_000_000, JSON.stringify(unit))
    }
  })
})

/** Masks a text that arrives in pieces of this length. */
function masked(text: string, length: number): string {
  const masker = new StreamMasker([ORION, ...RECOGNIZERS])
  let out = ''
  for (let at = 0; at < text.length; at += length) out += masker.push(text.slice(at, at + length))
  return out + masker.end()
}

it('a stream with other readings is masked as if it arrived at once, however it is split', () => {
  const word = fc.constantFrom(
    ...['😀', 'x', '1', ' ', '-', 'é', '\u200b', 'ａ', ', '],
    ...['4111 1111 1111 1111 ', 'ann@mail.example ', '+1 212 555 0100', 'Project Orion'],
  )
  const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(''))
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 9 }), (once, size) => {
      const long = once.repeat(Math.ceil(500 / once.length))
      assert.equal(masked(long, size), maskText(long, [ORION, ...RECOGNIZERS]).text)
    }),
    { numRuns: 100 },
  )
})
