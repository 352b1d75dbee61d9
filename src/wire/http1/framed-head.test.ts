import assert from 'node:assert/strict'
import { it } from 'node:test'
import { framedHead } from './framed-head.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { HEAD_LIMITS } from './message.ts'

it('a framed head copies every member of its source except for the framing', () => {
  const bytes = Buffer.from(
    'POST http://a.example:81/x?y=1 HTTP/1.1\r\nhost: a.example:81\r\nte: trailers\r\n' +
      'expect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  const head = new RequestHead()
  assert.equal(readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head), bytes.length)
  head.filterTrailers = () => {}
  const framed = framedHead(head, 'length', 7)
  assert.deepEqual(Object.keys(framed).toSorted(), Object.keys(head).toSorted())
  assert.deepEqual([framed.framing, framed.length], ['length', 7])
  for (const name of Object.keys(head) as (keyof RequestHead)[]) {
    if (name !== 'framing' && name !== 'length') assert.equal(framed[name], head[name], name)
  }
  // Changes to the copy do not affect the original.
  framed.keepAlive = false
  assert.equal(head.keepAlive, true)
})
