import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BodySink } from '../wire/streams.ts'
import { KeptBody } from './kept-body.ts'

function recorder(takes = true): BodySink & { text: string } {
  return {
    text: '',
    write(bytes) {
      this.text += bytes.toString()
      return takes
    },
    end() {
      this.text += '.'
    },
    abort(reason) {
      this.text += `!${reason}`
    },
  }
}

describe('a buffered body', () => {
  it('can be replayed from its start, and continues to the current sink', () => {
    const body = new KeptBody(10)
    const [first, second] = [recorder(), recorder()]
    body.sendTo(first)
    body.write(Buffer.from('ab'))
    assert.ok(body.isReplayable)
    body.sendTo(second)
    body.write(Buffer.from('cd'))
    body.end(undefined)
    assert.deepEqual([first.text, second.text], ['ab', 'abcd.'])
    const third = recorder()
    body.sendTo(third)
    assert.equal(third.text, 'abcd.')
  })

  it('is sent once to mirrors, however often the first sink changes', () => {
    const body = new KeptBody(10)
    const [first, second, beside] = [recorder(), recorder(), recorder()]
    body.sendTo(first, beside)
    body.write(Buffer.from('ab'))
    body.sendTo(second)
    body.write(Buffer.from('cd'))
    body.end(undefined)
    body.abandon()
    assert.deepEqual([first.text, second.text, beside.text], ['ab', 'abcd.', 'abcd.'])
  })

  it('is aborted for all its sinks if it is abandoned', () => {
    const body = new KeptBody(10)
    const [first, beside] = [recorder(), recorder()]
    body.sendTo(first, beside)
    body.write(Buffer.from('ab'))
    body.abandon()
    assert.deepEqual([first.text, beside.text], ['ab!abandoned', 'ab!abandoned'])
  })

  it('is no longer buffered beyond its limit, and streams through', () => {
    const body = new KeptBody(3)
    const sink = recorder()
    body.sendTo(sink)
    body.write(Buffer.from('ab'))
    body.write(Buffer.from('cd'))
    body.end(undefined)
    assert.equal(sink.text, 'abcd.')
    assert.equal(body.isReplayable, false)
    assert.equal(body.bytes, undefined)
  })

  it('waits until it is complete if it is read first', () => {
    let ready = 0
    const body = new KeptBody(10, () => ready++)
    body.write(Buffer.from('ab'))
    assert.equal(ready, 0)
    body.end(undefined)
    assert.equal(ready, 1)
    assert.equal(body.bytes?.toString(), 'ab')
    const sink = recorder()
    body.sendTo(sink)
    assert.equal(sink.text, 'ab.')
  })

  it('does not wait for a body beyond the limit', () => {
    const sink = recorder()
    const body: KeptBody = new KeptBody(3, () => body.sendTo(sink))
    body.write(Buffer.from('abc'))
    body.write(Buffer.from('de'))
    body.write(Buffer.from('f'))
    body.end(undefined)
    assert.equal(sink.text, 'abcdef.')
    assert.equal(body.bytes, undefined)
  })

  it('follows the pace of the first sink', () => {
    const body = new KeptBody(10)
    body.sendTo(recorder(true), recorder(false))
    assert.equal(body.write(Buffer.from('a')), true)
    body.sendTo(recorder(false), recorder(true))
    assert.equal(body.write(Buffer.from('a')), false)
  })

  it('is stored in few chunks, however many arrived', () => {
    const body = new KeptBody(1 << 20)
    const pieces: string[] = []
    const all = Array.from({ length: 100_000 }, (_, i) => String.fromCharCode(97 + (i % 26)))
    for (const one of all) body.write(Buffer.from(one))
    body.write(Buffer.alloc(50_000, '-'))
    body.write(Buffer.from('end'))
    body.end(undefined)
    const text = `${all.join('')}${'-'.repeat(50_000)}end`
    assert.equal(body.bytes?.toString(), text)
    body.sendTo({ ...recorder(), write: (bytes) => pieces.push(bytes.toString()) > 0 })
    assert.equal(pieces.join(''), text)
    assert.ok(pieces.length < 20, `${pieces.length} pieces`)
  })
})
