import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import fc from 'fast-check'
import { EventStreamReader, writeEventStream } from './event-stream.ts'
import { frame } from './testdata/streamed-responses.ts'

const message = frame('messageStart', { role: 'assistant', text: 'ä€🌍' })

function read(bytes: Uint8Array, size = bytes.length) {
  const reader = new EventStreamReader()
  const messages = []
  for (let at = 0; at < bytes.length; at += size) {
    // The buffer is reused: retained data must be a copy.
    const lent = Buffer.from(bytes.subarray(at, at + size))
    for (const { headers, payload } of reader.push(lent)) {
      messages.push({ headers, payload: Buffer.from(payload) })
    }
    lent.fill(0)
  }
  return { reader, messages }
}

describe('binary event streams', () => {
  it('reads what the AWS codec writes, split at every byte too', () => {
    const bytes = Buffer.concat([message, message, frame('x', {})])
    for (const size of [1, 3, 7, 100, bytes.length]) {
      const { messages, reader } = read(bytes, size)
      assert.equal(reader.problem, undefined)
      assert.equal(reader.isInsideMessage, false)
      assert.deepEqual(
        messages.map(({ headers, payload }) => [
          headers.get(':event-type'),
          Buffer.from(payload).toString(),
        ]),
        [
          ['messageStart', '{"role":"assistant","text":"ä€🌍"}'],
          ['messageStart', '{"role":"assistant","text":"ä€🌍"}'],
          ['x', '{}'],
        ],
      )
    }
  })

  it('detects every flipped bit', () => {
    fc.assert(
      fc.property(fc.nat(message.length * 8 - 1), (bit) => {
        const bytes = Buffer.concat([message, message])
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
        const { reader, messages } = read(bytes)
        assert.ok(messages.length === 0 && (reader.problem !== undefined || reader.isInsideMessage))
      }),
    )
  })

  it('does not wait for a message of an impossible length', () => {
    const codec = new EventStreamCodec(String, (text) => Buffer.from(text))
    const long = codec.encode({ headers: {}, body: Buffer.alloc(17 * 1024 * 1024) })
    const { reader } = read(Buffer.from(long.subarray(0, 100)))
    assert.match(reader.problem ?? '', /length/)
  })

  it('writes what the AWS codec reads', () => {
    const codec = new EventStreamCodec(
      (bytes) => Buffer.from(bytes).toString(),
      (text) => Buffer.from(text),
    )
    const headers = new Map([
      [':message-type', 'exception'],
      [':exception-type', 'throttlingException'],
    ])
    const written = codec.decode(writeEventStream({ headers, payload: Buffer.from('{"a":1}') }))
    assert.equal(written.headers[':exception-type']?.value, 'throttlingException')
    assert.equal(Buffer.from(written.body).toString(), '{"a":1}')
  })
})
