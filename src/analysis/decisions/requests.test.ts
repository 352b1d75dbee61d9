import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RecordedDecision } from './recorded.ts'
import { requestsIn } from './requests.ts'

const record = (stage: string, verdict: string): RecordedDecision =>
  ({
    id: 'one',
    time: '2026-11-16T00:00:00Z',
    kind: 'authorization',
    stage,
    verdict,
    enforced: true,
    cause: 'no-allow-match',
    gateway: 'default',
    listener: 'default',
    route: 'mcp',
    method: 'POST',
    host: 'a.example',
    path: '/mcp',
    source: '127.0.0.1:1',
    attributes: [],
  }) as unknown as RecordedDecision

describe('recorded requests', () => {
  for (const [stage, isAdmitted] of [
    ['traffic', false],
    ['backend', false],
    // The request was forwarded: the denied part is a message in its body, which records do not
    // contain.
    ['mcp', true],
  ] as const) {
    it(`that were denied at the stage ${stage} were ${isAdmitted ? '' : 'not '}admitted`, () => {
      const [request] = [...requestsIn([record(stage, 'denied')])]
      assert.equal(request?.isAdmitted, isAdmitted)
    })
  }
})
