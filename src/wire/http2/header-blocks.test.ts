import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HeaderBlocks, MAX_FRAMES } from './header-blocks.ts'
import {
  END_HEADERS,
  ENHANCE_YOUR_CALM,
  HAS_PRIORITY,
  NO_ERROR,
  PADDED,
  PROTOCOL_ERROR,
} from './protocol.ts'

const STREAM = 5
const MAX = 40_000

/** RFC 9113 §6.2: pad length, priority, fragment, padding; undefined: a protocol error. */
function fragmentOf(flags: number, payload: Buffer): Buffer | undefined {
  let rest = payload
  let padding = 0
  if (flags & PADDED) {
    if (rest.length < 1) return undefined
    padding = rest[0] as number
    rest = rest.subarray(1)
  }
  if (flags & HAS_PRIORITY) {
    if (rest.length < 5 || rest.length - padding < 5) return undefined
    rest = rest.subarray(5)
  }
  return padding > rest.length ? undefined : rest.subarray(0, rest.length - padding)
}

describe('the block of a HEADERS frame', () => {
  it('is what is left without padding and priority, for every length of each', () => {
    for (const flags of [0, PADDED, HAS_PRIORITY, PADDED | HAS_PRIORITY]) {
      for (let length = 0; length <= 14; length++) {
        for (const padding of [0, 1, 2, 5, 6, 7, 8, 12, 13, 14, 255]) {
          const payload = Buffer.from(Array.from({ length }, (_, at) => 100 + at))
          if (length > 0) payload[0] = padding
          // Surrounded by other bytes, as in a read buffer.
          const bytes = Buffer.concat([Buffer.alloc(3, 1), payload, Buffer.alloc(9, 2)])
          const blocks = new HeaderBlocks(MAX)
          const code = blocks.headers(STREAM, flags | END_HEADERS, bytes, 3, 3 + length)
          const expected = fragmentOf(flags, payload)
          const what = `flags ${flags}, ${length} bytes, padding ${padding}`
          assert.equal(code, expected === undefined ? PROTOCOL_ERROR : NO_ERROR, what)
          if (expected === undefined) continue
          assert.deepEqual(blocks.bytes.subarray(blocks.from, blocks.end), expected, what)
          assert.ok(blocks.isWhole)
          assert.equal(blocks.flags, flags | END_HEADERS)
        }
      }
    }
  })

  it('says whether the stream depends on itself', () => {
    const blocks = new HeaderBlocks(MAX)
    for (const [dependency, expected] of [
      [STREAM, true],
      [0x8000_0000 + STREAM, true],
      [STREAM + 2, false],
      [0, false],
    ] as const) {
      const priority = Buffer.alloc(5)
      priority.writeUInt32BE(dependency)
      assert.equal(blocks.headers(STREAM, HAS_PRIORITY | END_HEADERS, priority, 0, 5), NO_ERROR)
      assert.equal(blocks.dependsOnItself, expected)
      blocks.headers(STREAM, END_HEADERS, priority, 0, 5)
      assert.equal(blocks.dependsOnItself, false, 'without a priority')
    }
  })

  it('continues in other frames, which may be empty, and is copied meanwhile', () => {
    const blocks = new HeaderBlocks(MAX)
    const send = (text: string, flags: number, isFirst = false) => {
      const bytes = Buffer.from(`--${text}--`)
      const to = bytes.length - 2
      const code = isFirst
        ? blocks.headers(STREAM, flags, bytes, 2, to)
        : blocks.continuation(flags, bytes, 2, to)
      bytes.fill(0)
      return code
    }
    for (let round = 0; round < 2; round++) {
      assert.equal(send(round === 0 ? 'abc' : '', 0, true), NO_ERROR)
      assert.deepEqual([blocks.stream, blocks.isWhole], [STREAM, false])
      for (const text of ['de', '', 'f']) assert.equal(send(text, 0), NO_ERROR)
      assert.equal(blocks.isWhole, false)
      assert.equal(send('gh', END_HEADERS), NO_ERROR)
      const text = blocks.bytes.toString('latin1', blocks.from, blocks.end)
      assert.equal(text, round === 0 ? 'abcdefgh' : 'defgh')
      assert.ok(blocks.isWhole)
    }
  })

  it('has limits for its frames and its bytes', () => {
    const frames = new HeaderBlocks(MAX)
    frames.headers(STREAM, 0, Buffer.from('a'), 0, 1)
    for (let count = 2; count <= MAX_FRAMES; count++)
      assert.equal(frames.continuation(0, Buffer.from('a'), 0, 1), NO_ERROR)
    assert.equal(frames.continuation(END_HEADERS, Buffer.from('a'), 0, 1), ENHANCE_YOUR_CALM)
    for (const [max, size] of [
      [MAX, 2 * MAX],
      [32_768, 65_536],
      [1, 65_536],
    ] as const) {
      const blocks = new HeaderBlocks(max)
      const bytes = Buffer.alloc(size)
      blocks.headers(STREAM, 0, bytes, 0, size - 1)
      assert.equal(blocks.continuation(0, bytes, 0, 1), NO_ERROR)
      assert.equal(blocks.continuation(0, bytes, 0, 1), ENHANCE_YOUR_CALM)
      blocks.headers(STREAM, 0, bytes, 0, size - 1)
      assert.equal(blocks.continuation(END_HEADERS, bytes, 0, 1), NO_ERROR)
      assert.equal(blocks.end - blocks.from, size)
    }
  })
})
