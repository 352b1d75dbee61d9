import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { outcomeOf } from './attempt-outcome.ts'
import { undeliveredReply } from './undelivered-reason.ts'

describe('the response to a request that no backend responded to', () => {
  for (const [status, detail, reason, isBusy] of [
    [500, 'bad-rewrite', 'invalid-configuration', false],
    [503, 'no-endpoint', 'no-backend', false],
    [503, 'unhealthy', 'no-backend', false],
    [503, 'overloaded', 'overload', true],
    [503, 'pending-timeout', 'overload', true],
    [503, 'connect-refused', 'upstream-connect', false],
    [504, 'connect-timeout', 'upstream-connect', false],
    [504, 'timeout', 'upstream-timeout', false],
    [502, 'closed', 'upstream-reset', false],
    [502, 'reset', 'upstream-reset', false],
    [502, 'goaway', 'upstream-reset', false],
    [502, 'refused-stream', 'upstream-reset', false],
    [502, 'ECONNRESET', 'upstream-reset', false],
    [502, 'EPIPE2', 'upstream-invalid', false],
    [502, 'bad-status-line', 'upstream-invalid', false],
    [502, 'bad-response', 'upstream-invalid', false],
  ] as const) {
    it(`has the reason ${reason} for ${status} because of ${detail}`, () => {
      for (const tries of [0, 1, 2]) {
        const reply = undeliveredReply(status, detail, tries)
        assert.deepEqual([reply.status, reply.reason, reply.detail], [status, reason, detail])
        assert.equal(reply.isFinal, tries > 0 ? true : undefined)
        const names = reply.headers.added.map(([name]) => name.toLowerCase())
        assert.deepEqual(names, isBusy ? ['retry-after'] : [])
      }
    })
  }
})

it('the label of a response is the class of its status', () => {
  for (const [status, expected] of [
    [0, 'invalid'],
    [99, 'invalid'],
    [100, '1xx'],
    [199, '1xx'],
    [200, '2xx'],
    [299, '2xx'],
    [300, '3xx'],
    [404, '4xx'],
    [499, '4xx'],
    [500, '5xx'],
    [599, '5xx'],
    [600, '5xx'],
    [999, '5xx'],
  ] as const) {
    assert.equal(outcomeOf(status), expected, `${status}`)
  }
})
