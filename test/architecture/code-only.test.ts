// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings contain code with templates

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOnly } from './code-only.ts'

describe('code only', () => {
  for (const [name, text, expected] of [
    ['line comments', "a // it's\nb", 'a        \nb'],
    ['block comments', 'a /* x\n y */ b', 'a     \n      b'],
    ['strings keep their quotes', "f('a\\'b', \"c'd\")", 'f(\'    \', "   ")'],
    ['a comment in a string is none', "'//' + a", "'  ' + a"],
    ['templates keep their code', '`a${b}c${`d${e}`}f` + g', '` ${b} ${` ${e}`} ` + g'],
    ['an object in a template', '`${{ a: 1 }}b` + c', '`${{ a: 1 }} ` + c'],
    ['a pattern with a quote', "x = /[/']/g.test(y)", 'x = /     g.test(y)'],
    ['division is no pattern', "a / b / 'c'", "a / b / ' '"],
    ['a pattern after return', "return /'/", 'return /  '],
    ['an apostrophe in the text of a page', "<p>don't</p>\nimport a", "<p>don'     \nimport a"],
  ] as const) {
    it(name, () => assert.equal(codeOnly(text), expected))
  }
})
