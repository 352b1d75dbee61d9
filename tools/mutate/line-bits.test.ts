import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ranLines } from './in-process/line-coverage.ts'
import { hasLine, joinBits, packLines } from './line-bits.ts'

const linesIn = (bits: Record<string, string>, file: string) =>
  Array.from({ length: 500 }, (_, line) => line).filter((line) => hasLine(bits, file, line))

describe('sets of lines', () => {
  it('are the same after they were packed, by file', () => {
    const bits = { 'a.ts': packLines(new Set([1, 7, 8, 400])), 'b.ts': packLines(new Set([2])) }
    assert.deepEqual(linesIn(bits, 'a.ts'), [1, 7, 8, 400])
    assert.deepEqual(linesIn(bits, 'b.ts'), [2])
    assert.deepEqual(linesIn(bits, 'c.ts'), [])
  })

  it('are joined, whichever is longer', () => {
    const a = { 'a.ts': packLines(new Set([1, 9])), 'b.ts': packLines(new Set([3])) }
    const b = { 'a.ts': packLines(new Set([2])), 'c.ts': packLines(new Set([4])) }
    for (const joined of [joinBits(a, b), joinBits(b, a)]) {
      assert.deepEqual(linesIn(joined, 'a.ts'), [1, 2, 9])
      assert.deepEqual(linesIn(joined, 'b.ts'), [3])
      assert.deepEqual(linesIn(joined, 'c.ts'), [4])
    }
  })
})

describe('lines that ran', () => {
  const text = [
    'function f(a) {', // 1
    '  if (a) return 1', // 2
    '  if (!a) {', // 3
    '    return 2', // 4
    '  }', // 5
    '}', // 6
    'function g() {', // 7
    '}', // 8
  ]
  const at = (code: string) => text.join('\n').indexOf(code)
  const range = (from: string, to: string, count: number) => ({
    startOffset: at(from),
    endOffset: at(to) + to.length,
    count,
  })

  it('are those of ranges that were counted, without inner ranges that were not', () => {
    const ranges = [range('function f', '\n}', 1), range('{\n    return 2', '  }', 0)]
    assert.deepEqual([...ranLines(text, ranges)], [1, 2, 3, 6])
  })

  it('have a line of which a part ran', () => {
    const ranges = [range('function f', '\n}', 1), range('return 1', 'return 1', 0)]
    assert.deepEqual([...ranLines(text, ranges)], [1, 2, 3, 4, 5, 6])
  })

  it('are none of what is in no range', () => {
    assert.deepEqual([...ranLines(text, [])], [])
  })
})
