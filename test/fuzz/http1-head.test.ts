import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { HIDDEN } from '../../src/wire/http1/field-names.ts'
import { type Fields, fieldName, fieldValue } from '../../src/wire/http1/fields.ts'
import { RequestHead, readRequestHead } from '../../src/wire/http1/head.ts'
import type { HeadLimits } from '../../src/wire/http1/message.ts'
import { rejectionOf } from '../../src/wire/http1/rejections.ts'
import { ResponseHead, readResponseHead } from '../../src/wire/http1/response-head.ts'
import { assertProperty } from './assert-property.ts'
import type { PlainField } from './http1-head.plain.ts'
import { mutatedRequest, mutatedResponse, portions } from './http1-messages.ts'
import { plainRequest } from './http1-request.plain.ts'
import { plainResponse } from './http1-response.plain.ts'
import { fuzz } from './runs.ts'

const ROOMY: HeadLimits = { head: 4096, target: 256, fields: 20 }
const TIGHT: HeadLimits = { head: 90, target: 12, fields: 3 }

const limits = fc.constantFrom(ROOMY, ROOMY, ROOMY, TIGHT)

describe('heads, compared with the reference implementation', () => {
  const runs = fuzz(1)
  const fewer = fuzz(0.5)

  // One object for all messages: nothing of a message may show up in the next one.
  const request = new RequestHead()
  it(`${runs.numRuns} requests, cut anywhere`, () => {
    const property = fc.property(mutatedRequest(), portions(), limits, (text, cut, limit) => {
      const read = (bytes: Buffer, start: number, end: number) =>
        readRequestHead(bytes, start, end, limit, request)
      const at = feed(text, cut(text.length), read)
      assert.deepEqual(
        typeof at === 'string' ? at : { consumed: at, ...ofRequest(request) },
        plainRequest(text, limit),
      )
    })
    assertProperty('http1-requests', property, runs)
  })

  const response = new ResponseHead()
  const methods = fc.constantFrom('GET', 'HEAD')
  it(`${fewer.numRuns} responses, cut anywhere`, () => {
    const property = fc.property(
      fc.tuple(mutatedResponse(), portions(), limits, methods),
      ([text, cut, limit, method]) => {
        const read = (bytes: Buffer, start: number, end: number) =>
          readResponseHead(bytes, start, end, limit, method, response)
        const at = feed(text, cut(text.length), read)
        assert.deepEqual(
          typeof at === 'string' ? at : { consumed: at, ...ofResponse(response) },
          plainResponse(text, method, limit),
        )
      },
    )
    assertProperty('http1-responses', property, fewer)
  })
})

function ofRequest(head: RequestHead) {
  const { method, form, scheme, path, query, host, port, expectContinue, takesTrailers } = head
  const target = head.fields.text.slice(head.line.target, head.line.targetEnd)
  const meaning = { method, target, form, scheme, path, query, host, port }
  return { ...meaning, expectContinue, takesTrailers, ...ofBoth(head) }
}

function ofResponse(head: ResponseHead) {
  return { status: head.status, reason: head.reason, ...ofBoth(head) }
}

function ofBoth(head: RequestHead | ResponseHead) {
  const { minor, framing, length, keepAlive, upgrade } = head
  const lists = { options: [...head.options], fields: listed(head.fields) }
  return { minor, framing, length, keepAlive, upgrade, ...lists }
}

function listed(fields: Fields): PlainField[] {
  return Array.from({ length: fields.count }, (_, i) => [
    fieldName(fields, i),
    fieldValue(fields, i),
    fields.kinds[i] === HIDDEN,
  ])
}

/**
 * Passes more and more of the text to the reader, each time in another buffer and at another offset
 * with other bytes around it. Returns the offset after the head, or the word of the rejection.
 */
function feed(
  text: string,
  ends: readonly number[],
  read: (bytes: Buffer, start: number, end: number) => number,
): number | string {
  for (const [turn, length] of ends.entries()) {
    const start = (turn * 7) % 13
    const bytes = Buffer.alloc(start + length + 9, turn % 2 === 0 ? '\r' : 'x')
    bytes.write(text.slice(0, length), start, 'latin1')
    const at = read(bytes, start, start + length)
    if (at > 0) return at - start
    if (at < 0) return rejectionOf(at).word
  }
  // The reader waits for more. Start another message, as when a connection closes.
  const rest = Buffer.from(text, 'latin1')
  assert.equal(read(rest, 0, rest.length), 0)
  read(Buffer.concat([rest, Buffer.alloc(8192)]), 0, rest.length + 8192)
  return 'more'
}
