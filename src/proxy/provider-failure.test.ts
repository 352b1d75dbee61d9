import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HEAD_LIMITS } from '../wire/http1/message.ts'
import { ResponseHead, readResponseHead } from '../wire/http1/response-head.ts'
import { causeOf, isFailure, restAfter, statusCause } from './provider-failure.ts'

function headOf(status: number, lines = ''): ResponseHead {
  const head = new ResponseHead()
  const bytes = Buffer.from(`HTTP/1.1 ${status} X\r\n${lines}\r\n`)
  assert.equal(readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'GET', head), bytes.length)
  return head
}

describe('a response of a provider', () => {
  for (const [status, fails, cause] of [
    [200, false, 'status'],
    [400, false, 'status'],
    [428, false, 'status'],
    [429, true, 'rate-limited'],
    [430, false, 'status'],
    [499, false, 'status'],
    [500, true, 'status'],
    [503, true, 'status'],
    [999, true, 'status'],
  ] as const) {
    it(`with ${status} ${fails ? 'is a reason' : 'is none'} to try another one`, () => {
      assert.equal(isFailure(status), fails)
      assert.equal(statusCause(headOf(status)), cause)
    })
  }

  it('that a condition rejects counts as one with such a status', () => {
    assert.equal(causeOf('condition'), 'status')
    for (const reason of ['status', 'connect', 'reset', 'timeout'] as const)
      assert.equal(causeOf(reason), reason)
  })

  const HOUR = 3_600_000
  for (const [lines, expected] of [
    ['', 0],
    ['Retry-After: 2\r\n', 2_000],
    ['Retry-After: 0.25\r\n', 250],
    ['Retry-After:  7 \r\n', 7_000],
    ['Retry-After: 3600\r\n', HOUR],
    ['Retry-After: 3601\r\n', HOUR],
    ['Retry-After: 0\r\n', 0],
    ['Retry-After: -5\r\n', 0],
    ['Retry-After: soon\r\n', 0],
    ['Retry-After: 1.\r\n', 0],
    ['Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n', 0],
    ['Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\n', HOUR],
    ['Retry-After-Ms: 30\r\nRetry-After: 9\r\n', 30],
    ['Retry-After-Ms: 0\r\nRetry-After: 9\r\n', 0],
    ['Retry-After-Ms: 99999999\r\n', HOUR],
    ['Retry-After-Ms: -1\r\nRetry-After: 9\r\n', 9_000],
    ['Retry-After-Ms: x\r\nRetry-After: 9\r\n', 9_000],
  ] as const) {
    it(`asks for a pause of ${expected} ms: ${JSON.stringify(lines)}`, () => {
      assert.equal(restAfter(headOf(429, lines)), expected)
    })
  }

  it('may name the time at which it can be asked again', () => {
    const at = new Date(Date.now() + 60_000).toUTCString()
    const rest = restAfter(headOf(429, `Retry-After: ${at}\r\n`))
    assert.ok(rest > 50_000 && rest <= 60_000, String(rest))
  })
})
