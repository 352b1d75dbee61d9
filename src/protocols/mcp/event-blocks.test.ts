import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type EventBlock, EventBlockReader } from './event-blocks.ts'

function read(bytes: Uint8Array, cuts: readonly number[]): readonly EventBlock[] {
  const reader = new EventBlockReader()
  const blocks: EventBlock[] = []
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const at = Math.min(cut, bytes.length)
    blocks.push(...reader.push(bytes.subarray(from, at)))
    from = at
  }
  blocks.push(...reader.push(bytes.subarray(from)))
  return blocks
}

describe('blocks of an event stream', () => {
  it('are the same however the bytes are split', () => {
    const line = fc.constantFrom('data: a', 'data:b', 'id: 1', ': x', 'event: e', 'data: 城门', '')
    const end = fc.constantFrom('\n', '\r', '\r\n')
    const stream = fc
      .array(fc.tuple(line, end), { maxLength: 30 })
      .map((all) => Buffer.from(`${all.flat().join('')}\n`))
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 12 }), (bytes, cuts) => {
        assert.deepEqual(read(bytes, cuts), read(bytes, []))
      }),
    )
  })

  it('take linear time for a line in many pieces', () => {
    const reader = new EventBlockReader()
    const piece = Buffer.alloc(1 << 14, 'x')
    const cpu = () => process.cpuUsage().user / 1000
    reader.push(Buffer.from('data: '))
    const began = cpu()
    for (let count = 0; count < 600; count++) reader.push(piece)
    const [block] = reader.push(Buffer.from('\n\n'))
    assert.equal(block?.data?.length, 600 * piece.length)
    // Searching the earlier text again for each piece takes seconds.
    assert.ok(cpu() - began < 400, `${cpu() - began} ms`)
  })
})
