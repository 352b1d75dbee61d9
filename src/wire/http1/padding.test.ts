import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseTracestate } from '../../telemetry/trace-context.ts'
import { HpackEncoder } from '../http2/hpack-encoder.ts'
import { encodeRequest, readOutgoingHead } from '../http2/request-fields.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { unpadded } from './padding.ts'

const MANY = 131_072

/** Seconds of CPU time; a quadratic search takes tens of seconds. */
function cpuOf(work: () => void): number {
  const before = process.cpuUsage()
  work()
  return process.cpuUsage(before).user / 1e6
}

describe('whitespace around a value', () => {
  for (const [text, expected] of [
    ['', ''],
    [' \t ', ''],
    ['a', 'a'],
    [' \ta b\t ', 'a b'],
    ['\u00a0a\u00a0', '\u00a0a\u00a0'],
  ] as const) {
    it(JSON.stringify(text), () => assert.equal(unpadded(text), expected))
  }

  const spaces = ' '.repeat(MANY)
  const limits = { head: 2 * MANY, target: 8_192, fields: 100 }
  for (const [title, work] of [
    ['Connection', () => readHead(`connection: a${spaces}b`)],
    ['Upgrade', () => readHead(`connection: upgrade\r\nupgrade: a${spaces}b`)],
    ['tracestate', () => parseTracestate(`a=b${spaces}c`)],
    [
      'any header to a backend of HTTP/2',
      () => {
        const head = readOutgoingHead(`GET / HTTP/1.1\r\nx: a${spaces}b\r\n\r\n`)
        encodeRequest(new HpackEncoder(), 'GET', 'http', 'x', head)
      },
    ],
  ] as const) {
    it(`${title}: many within a value cost no more than others`, () => {
      assert.ok(cpuOf(work) < 2)
    })
  }

  function readHead(field: string): void {
    const bytes = Buffer.from(`GET / HTTP/1.1\r\nhost: x\r\n${field}\r\n\r\n`)
    readRequestHead(bytes, 0, bytes.length, limits, new RequestHead())
  }
})
