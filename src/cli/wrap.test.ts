import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'
import { COMMANDS } from './index.ts'
import { fitTo } from './wrap.ts'

describe('command output on narrow terminals', () => {
  for (const [what, text, width, fitted] of [
    ['what fits stays', '  a  b   c', 40, '  a  b   c'],
    ['no terminal', 'word '.repeat(50), undefined, 'word '.repeat(50)],
    [
      'the second column',
      '  check          look at files and say what is wrong',
      40,
      '  check          look at files and say\n                 what is wrong',
    ],
    [
      'a first column that leaves no room',
      '  --a-very-long-option VALUE   what it does to you',
      36,
      '  --a-very-long-option VALUE   what\n    it does to you',
    ],
    [
      'a word that is too long',
      'see https://example.com/a/long/path now',
      20,
      'see\nhttps://example.com/a/long/path\nnow',
    ],
    ['a paragraph', 'one two three four five', 20, 'one two three four\nfive'],
  ] as const) {
    it(what, () => {
      assert.equal(fitTo(text, width), fitted)
    })
  }

  for (const args of [
    ['help'],
    ...COMMANDS.map(({ name }) => ['help', name]),
    ['explain', 'PC0107'],
  ]) {
    it(`portcullis ${args.join(' ')} fits into 40 columns`, async () => {
      const { out, code } = await runWith(args, { width: 40 })
      assert.equal(code, 0)
      const long = out.split('\n').filter((line) => line.length > 40)
      // A word cannot be split.
      assert.deepEqual(
        long.filter((line) => line.trim().includes(' ')),
        [],
      )
    })
  }
})
