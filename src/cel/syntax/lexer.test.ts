import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compile, STAGES } from '../index.ts'

const ERROR = Symbol('rejected')

function resultOf(text: string): unknown {
  const { expression } = compile(text, STAGES.traffic)
  return expression === undefined ? ERROR : expression.evaluate()({})
}

const CASES: Readonly<Record<string, readonly (readonly [text: string, value: unknown])[]>> = {
  'comments end with the line': [
    ['1 // one', 1],
    ['1 // one\n + 2', 3],
    ['// one\n1 // two\n// three\n+ 1', 2],
    ['1 //', 1],
    ["'a // b'", 'a // b'],
    ['4 / 2', 2],
    ['4 /2', 2],
    ['4/0 == 1 || true', true],
    ['4 / / 2', ERROR],
    ['// nothing else', ERROR],
    ['1 /* one */', ERROR],
    ['1 # one', ERROR],
  ],
  'white space separates': [
    [' \t\r\n\f1\n', 1],
    ['1 2', ERROR],
    ['1\u000b+ 1', ERROR],
    ['1\u00a0+ 1', ERROR],
    ['true||false', true],
    ['tr ue', ERROR],
  ],
  'strings have one or three quotes, and escapes': [
    [`"it's"`, "it's"],
    [`'say "a"'`, 'say "a"'],
    [`'''it's\n"a"'''`, `it's\n"a"`],
    [`"""it's\n"a" """`, `it's\n"a" `],
    [`''`, ''],
    [`''''''`, ''],
    [String.raw`'\a\b\f\n\r\t\v'`, '\u0007\b\f\n\r\t\v'],
    [`'\\\\ \\' \\" \\\`'`, `\\ ' " \``],
    [String.raw`'\?'`, '?'],
    [String.raw`'\x41\X42\103'`, 'ABC'],
    [String.raw`'\u00e9\U0001f600'`, 'é😀'],
    [String.raw`'\377'`, 'ÿ'],
    [String.raw`'\400'`, ERROR],
    [String.raw`'\08'`, ERROR],
    [String.raw`'\x4'`, ERROR],
    [String.raw`'\ud800'`, ERROR],
    [String.raw`'\U00110000'`, ERROR],
    [String.raw`'\q'`, ERROR],
    [String.raw`r'\n\q'`, String.raw`\n\q`],
    [String.raw`R"\'"`, String.raw`\'`],
    [`'a\nb'`, ERROR],
    [`'a`, ERROR],
    [`'''a''`, ERROR],
  ],
  'bytes are those of the string, or of escapes': [
    [`b'a' == bytes('a')`, true],
    [`B"é" == bytes('é')`, true],
    [String.raw`b'\xff' == b'\377'`, true],
    [String.raw`size(b'\xff\x00')`, 2],
    [String.raw`br'\x' == bytes('\\x')`, true],
    [`rb'a'`, ERROR],
    [`bb'a'`, ERROR],
  ],
  'numbers have three types': [
    ['0x1F', 31],
    ['-0x1f', -31],
    ['1u == uint(1)', true],
    ['0xFFu == uint(255)', true],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['1e3 == 1000.0', true],
    ['1E-3', 0.001],
    ['1e+2 == 100.0', true],
    ['9223372036854775807 > 0', true],
    ['9223372036854775808', ERROR],
    ['-9223372036854775808 < 0', true],
    ['18446744073709551615u > 0u', true],
    ['18446744073709551616u', ERROR],
    ['1.', ERROR],
    ['1e', ERROR],
    ['0x', ERROR],
    ['01', 1],
    ['1a', ERROR],
  ],
}

describe('the text of an expression', () => {
  for (const [title, cases] of Object.entries(CASES)) {
    it(title, () => {
      for (const [text, value] of cases) assert.deepEqual(resultOf(text), value, text)
    })
  }
})
