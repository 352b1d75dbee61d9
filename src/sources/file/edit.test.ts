import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { anyText } from '../../../test/fuzz/any-text.ts'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { applyEdits, type Edit } from './edit.ts'

const at = (line: number, column: number) => ({ kind: 'file', file: 'a', line, column }) as const
const rewrite = (line: number, column: number, from: string, to: string): Edit => ({
  kind: 'rewrite',
  at: at(line, column),
  from,
  to,
})

describe('edits in place', () => {
  for (const [what, text, edit, expected] of [
    [
      'a plain text',
      '# top\nrules:\n  - allow: a == 1   # why\n  - b\n',
      rewrite(3, 5, 'a == 1', 'a == 2'),
      '# top\nrules:\n  - allow: a == 2   # why\n  - b\n',
    ],
    ['an item by itself', '- a\n- b # x\n', rewrite(2, 3, 'b', 'c'), '- a\n- c # x\n'],
    ['a quoted text stays quoted', "k: 'it''s'\n", rewrite(1, 1, "it's", "x's"), "k: 'x''s'\n"],
    ['and so one in double quotes', 'k: "a"\n', rewrite(1, 1, 'a', 'b"c'), 'k: "b\\"c"\n'],
    ['what cannot be plain is quoted', 'k: a\n', rewrite(1, 1, 'a', 'b: c # d'), "k: 'b: c # d'\n"],
    ['in a flow list', '{k: [a, b]}\n', rewrite(1, 6, 'a', 'c'), '{k: [c, b]}\n'],
    ['behind an astral character', '"😀": a\n', rewrite(1, 1, 'a', 'b'), '"😀": b\n'],
    [
      'an item goes with its line',
      'l:\n- a\n# about b\n- allow: b # b\n- c\n',
      { kind: 'remove', at: at(4, 3), from: 'b' },
      'l:\n- a\n# about b\n- c\n',
    ],
    ['the last line', 'l:\n- a\n- b', { kind: 'remove', at: at(3, 3), from: 'b' }, 'l:\n- a\n'],
  ] as const) {
    it(what, () => {
      const edited = applyEdits(text, [edit])
      assert.equal(edited.text, expected)
      assert.deepEqual(edited.applied, [edit])
    })
  }

  for (const [what, text, edit] of [
    ['something else stands there', 'k: b\n', rewrite(1, 1, 'a', 'c')],
    ['a block', 'k: |\n  a\n', rewrite(1, 1, 'a\n', 'c')],
    ['the only item', 'l:\n- a\n', { kind: 'remove', at: at(2, 3), from: 'a' }],
    ['an item of a flow list', 'l: [a, b]\n', { kind: 'remove', at: at(1, 5), from: 'a' }],
    ['an alias', 'a: &x [b, c]\nd: *x\n', rewrite(1, 8, 'b', 'e')],
    ['no YAML', 'k: [', rewrite(1, 1, '', 'a')],
  ] as const) {
    it(`is left alone: ${what}`, () => {
      assert.deepEqual(applyEdits(text, [edit]), { text, applied: [] })
    })
  }

  it('applies several at once', () => {
    const edits = [rewrite(1, 3, 'a', 'aa'), rewrite(2, 3, 'b', 'bb')]
    assert.deepEqual(applyEdits('- a\n- b\n', edits), { text: '- aa\n- bb\n', applied: edits })
  })

  it('any written text is read back, and the rest is unchanged', () => {
    const property = fc.property(anyText(), (to) => {
      const { text, applied } = applyEdits('a: x # c\nb: y\n', [rewrite(1, 1, 'x', to)])
      assert.deepEqual(parse(text), { a: applied.length === 1 ? to : 'x', b: 'y' })
    })
    fc.assert(property, fuzz(0.3))
  })
})
