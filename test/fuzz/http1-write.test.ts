import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type FieldLines, fieldLine, NO_LINES, nameSet } from '../../src/wire/http1/field-lines.ts'
import { findField } from '../../src/wire/http1/fields.ts'
import { RequestHead, readRequestHead } from '../../src/wire/http1/head.ts'
import { type Framing, HEAD_LIMITS } from '../../src/wire/http1/message.ts'
import { ResponseHead, readResponseHead } from '../../src/wire/http1/response-head.ts'
import { dateLine, renderRequestHead, renderResponseHead } from '../../src/wire/http1/write.ts'
import { assertProperty } from './assert-property.ts'
import { mutatedRequest, mutatedResponse } from './http1-messages.ts'
import { plainRequestHead, plainResponseHead } from './http1-write.plain.ts'
import { fuzz } from './runs.ts'

const names = fc.uniqueArray(fc.constantFrom('x-a', 'X-B', 'cookie', 'host', 'date', 'x-long'))
const lines = fc.constantFrom(NO_LINES, fieldLine('x-added', 'yes') as FieldLines)
const upgrade = fc.constantFrom('', '', '', 'websocket', 'a\r\nb: c', '\u010d\u010a')
const body = fc.constantFrom<{ framing: Framing; length: number }>(
  { framing: 'none', length: -1 },
  { framing: 'none', length: 0 },
  { framing: 'length', length: 42 },
  { framing: 'chunked', length: -1 },
)
const shared = fc.record({ lines, upgrade, dropped: names.map(nameSet), body })

describe('written heads, compared with the reference implementation', () => {
  const runs = fuzz(0.5)
  const head = new RequestHead()
  const again = new RequestHead()

  it(`${runs.numRuns} requests: the same bytes, read again with the same meaning`, () => {
    const target = fc.constantFrom('', '/new', '/a b', '/a\r\nx: y', '/\u010d\u010a', '*')
    const query = fc.constantFrom('', '?q', '? ', '?\n')
    const host = fc.constantFrom('', '', 'up:80', 'a\r\nb', 'a b')
    const isExpecting = fc.boolean()
    const changes = fc.tuple(target, query, host, isExpecting, shared)
    const property = fc.property(
      mutatedRequest(),
      changes,
      (text, [to, q, host, expects, rest]) => {
        if (read(head, text) <= 0) return
        const { body, ...others } = rest
        const path = to === '' ? head.path : to
        const query = to === '' ? head.query : q
        const out = { ...others, ...body, path, query, host, expectContinue: expects }
        const written = renderRequestHead(head, out)
        assert.equal(written, plainRequestHead(head, out))
        if (written === '') return
        const { method, takesTrailers } = head
        const isFit = path !== '*' || (method === 'OPTIONS' && query === '')
        const hasHost = host !== '' || head.host !== ''
        if (!isFit || !hasHost || method === 'CONNECT') return
        assert.equal(read(again, written), written.length, written)
        assert.deepEqual(
          [again.method, again.path, again.query, again.framing, again.length, again.minor],
          [method, path, query, body.framing, body.length, 1],
        )
        assert.equal(again.upgrade, others.upgrade)
        assert.equal(again.takesTrailers, takesTrailers && others.upgrade === '')
        for (const name of ['keep-alive', 'proxy-connection'])
          assert.equal(findField(again.fields, name), -1)
      },
    )
    assertProperty('http1-write-requests', property, runs)
  })

  const response = new ResponseHead()
  const second = new ResponseHead()
  it(`${runs.numRuns} responses: the same bytes, read again with the same meaning`, () => {
    const connection = fc.constantFrom<'' | 'close' | 'keep-alive'>('', 'close', 'keep-alive')
    const property = fc.property(
      mutatedResponse(),
      shared,
      connection,
      (text, rest, connection) => {
        if (readText(response, text) <= 0) return
        const { body, ...others } = rest
        const out = { ...others, ...body, connection, date: dateLine(784_111_777_000) }
        const written = renderResponseHead(response, out)
        assert.equal(written, plainResponseHead(response, out))
        if (written === '') return
        assert.equal(readText(second, written), written.length, written)
        assert.equal(second.status, response.status)
        const isEmpty = response.status < 200 || [204, 304].includes(response.status)
        const expected = body.framing === 'none' && body.length < 0 ? 'close' : body.framing
        assert.equal(second.framing, isEmpty ? 'none' : expected)
      },
    )
    assertProperty('http1-write-responses', property, runs)
  })
})

function read(head: RequestHead, text: string): number {
  const bytes = Buffer.from(text, 'latin1')
  const at = readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head)
  // Discard a head that waits for more.
  if (at === 0) Object.assign(head, new RequestHead())
  return at
}

function readText(head: ResponseHead, text: string): number {
  const bytes = Buffer.from(text, 'latin1')
  const at = readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'GET', head)
  if (at === 0) Object.assign(head, new ResponseHead())
  return at
}
