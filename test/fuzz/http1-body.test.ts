import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BodyReader, beginBody, endBody, readBody, trailersOf } from '../../src/wire/http1/body.ts'
import { type BodyLimits, renderTrailers } from '../../src/wire/http1/chunked.ts'
import { HIDDEN } from '../../src/wire/http1/field-names.ts'
import { fieldName, fieldValue } from '../../src/wire/http1/fields.ts'
import type { Framing } from '../../src/wire/http1/message.ts'
import { rejectionOf } from '../../src/wire/http1/rejections.ts'
import { assertProperty } from './assert-property.ts'
import { type PlainBody, plainChunks, plainLength } from './http1-body.plain.ts'
import { mutated, portions } from './http1-messages.ts'
import { fuzz } from './runs.ts'

const ROOMY: BodyLimits = { extensions: 64, trailers: 256, trailerFields: 8 }
const TIGHT: BodyLimits = { extensions: 5, trailers: 30, trailerFields: 1 }

const SIZES = ['00000000000000001', '1fffffffffffff', '20000000000000', 'ffffffffffffffffff', '0x1']
const EXTENSIONS = [';', ';a', ';a=b', ';a="b;c"', ' ;a', ';long=0123456789012345678901234567890']
const TRAILERS = ['X-Sum: 1', 'x-b:  2 ', 'Content-Length: 5', 'Authorization: x', 'Host: a', 'bad']

function chunked(): fc.Arbitrary<string> {
  const extension = fc.oneof(
    { weight: 4, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom(...EXTENSIONS) },
  )
  const data = fc.string({ unit: fc.constantFrom('a', 'b', '\r', '\n', '0'), maxLength: 20 })
  const chunk = fc.tuple(data, extension, fc.nat(2)).map(([text, after, zeros]) => {
    return `${'0'.repeat(zeros)}${text.length.toString(16)}${after}\r\n${text}\r\n`
  })
  const odd = fc.tuple(fc.constantFrom(...SIZES), extension).map(([size, after]) => {
    return `${size}${after}\r\na\r\n`
  })
  const chunks = fc.array(fc.oneof({ weight: 12, arbitrary: chunk }, odd), { maxLength: 5 })
  const trailers = fc.array(fc.constantFrom(...TRAILERS), { maxLength: 2 })
  return fc.tuple(chunks, extension, trailers).map(([all, after, fields]) => {
    return `${all.join('')}0${after}\r\n${fields.map((each) => `${each}\r\n`).join('')}\r\nGET /`
  })
}

describe('bodies, compared with the reference implementation', () => {
  const runs = fuzz(0.5)
  const body = new BodyReader()
  const limits = fc.constantFrom(ROOMY, ROOMY, TIGHT)

  it(`${runs.numRuns} chunked bodies, cut anywhere: the same data`, () => {
    const property = fc.property(mutated(chunked()), portions(), limits, (text, cut, limit) => {
      const { wire: _, ...plain } = plainChunks(text, limit)
      const { ranges, ...ours } = feed(body, 'chunked', -1, false, text, cut, limit)
      assert.deepEqual({ ...ours, data: ranges }, comparable(plain))
    })
    assertProperty('http1-chunked', property, runs)
  })

  it(`${runs.numRuns} chunked bodies that are sent on: the same bytes but what is dropped`, () => {
    const property = fc.property(mutated(chunked()), portions(), limits, (text, cut, limit) => {
      const { data: _, ...plain } = plainChunks(text, limit)
      const { ranges, ...ours } = feed(body, 'chunked', -1, true, text, cut, limit)
      assert.equal(ours.verdict, plain.verdict)
      // How much is forwarded before a rejection depends on the segments.
      if (ours.verdict !== 'done' && ours.verdict !== 'more') return
      assert.deepEqual({ ...ours, wire: ranges }, plain)
      if (ours.verdict === 'more') return
      const trailers = trailersOf(body)
      const sent = ranges + (trailers === undefined ? '' : renderTrailers(trailers))
      const again = plainChunks(sent, { ...limit, extensions: 0 })
      assert.equal(again.verdict, 'done')
      assert.equal(again.consumed, sent.length)
      assert.equal(again.data, plainChunks(text, limit).data)
    })
    assertProperty('http1-chunked-copied', property, runs)
  })

  it('bodies with a known length', () => {
    const property = fc.property(fc.string(), fc.nat(20), portions(), (text, length, cut) => {
      const framing = length === 0 ? 'none' : 'length'
      const { ranges, ...ours } = feed(body, framing, length, false, text, cut, ROOMY)
      const { wire: _, ...plain } = plainLength(text, length)
      assert.deepEqual({ ...ours, data: ranges }, plain)
      assert.equal(endBody(body) > 0, plain.verdict === 'done')
    })
    assertProperty('http1-length', property, fuzz(0.1))
  })

  it('bodies that end when the connection closes', () => {
    const property = fc.property(fc.string(), portions(), (text, cut) => {
      const { ranges, verdict } = feed(body, 'close', -1, false, text, cut, ROOMY)
      assert.equal(ranges, text)
      assert.equal(verdict, 'more')
      assert.equal(endBody(body), 1)
    })
    assertProperty('http1-until-close', property, fuzz(0.1))
  })
})

/** Offsets have no meaning after a rejection. */
function comparable<T extends Pick<PlainBody, 'verdict' | 'consumed' | 'trailers'>>(plain: T): T {
  const isRejected = plain.verdict !== 'done' && plain.verdict !== 'more'
  return isRejected ? { ...plain, consumed: 0, trailers: undefined } : plain
}

function feed(
  body: BodyReader,
  framing: Framing,
  length: number,
  asWire: boolean,
  text: string,
  cut: (length: number) => number[],
  limits: BodyLimits,
) {
  beginBody(body, framing, length, asWire)
  const outcome = { verdict: 'more', consumed: 0, ranges: '', trailers: trailersFound(body) }
  let from = 0
  for (const to of cut(text.length)) {
    const start = from % 5
    const bytes = Buffer.alloc(start + to - from + 3, '\r')
    bytes.write(text.slice(from, to), start, 'latin1')
    const end = start + to - from
    let at = start
    for (let turns = 0; at < end && !body.isDone; turns++) {
      assert.ok(turns <= end - start, 'every call comes on')
      const next = readBody(body, bytes, at, end, limits)
      if (next < 0) {
        return { ...outcome, verdict: rejectionOf(next).word, consumed: 0, trailers: undefined }
      }
      assert.ok(body.from >= at && body.from <= body.to && body.to <= next && next <= end)
      outcome.ranges += bytes.toString('latin1', body.from, body.to)
      outcome.consumed += next - at
      at = next
    }
    from = to
  }
  return { ...outcome, verdict: body.isDone ? 'done' : 'more', trailers: trailersFound(body) }
}

function trailersFound(body: BodyReader) {
  const trailers = body.isDone ? trailersOf(body) : undefined
  if (trailers === undefined) return undefined
  return Array.from({ length: trailers.count }, (_, i) => [
    fieldName(trailers, i),
    fieldValue(trailers, i),
    trailers.kinds[i] === HIDDEN,
  ])
}
