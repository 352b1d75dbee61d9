import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import type { ListenerProgram, Retry } from '../program/program.ts'
import { Endpoint, Scripted } from '../upstream/fixtures/scripted-endpoint.ts'
import type { Downstream } from '../wire/downstream.ts'
import { RequestHead, readRequestHead } from '../wire/http1/head.ts'
import { HEAD_LIMITS } from '../wire/http1/message.ts'
import { Delivery } from './delivery.ts'
import { RequestState } from './request-state.ts'

const RETRY: Retry = {
  ...{ attempts: 2, statuses: new Set([503, 504]), backoff: 100, maxBody: 1_000 },
  ...{ onConnectionError: true, condition: undefined, precondition: undefined },
}

/** A request without a body on its way to an endpoint, and everything that was reported. */
function deliver(retry: Partial<Retry> | undefined, more: object = {}) {
  const head = new RequestHead()
  const bytes = Buffer.from('POST /x HTTP/1.1\r\nHost: a\r\n\r\n')
  readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head)
  const log: string[] = []
  const downstream = {
    head,
    isResponding: false,
    takesWire: false,
    respond: ({ status }: { status: number }) => log.push(`response ${status}`) > 0,
    write: () => true,
    end: () => void log.push('end'),
    abort: () => void log.push('cut'),
  } as unknown as Downstream
  const state = new RequestState(downstream, exchangeOf(), {} as ListenerProgram, 0)
  const endpoint = new Endpoint()
  const upstream = { kind: 'cluster', cluster: Object.assign(endpoint.cluster, { name: 'up' }) }
  const route = {
    ...{ mirrors: [], timeouts: { backendRequest: 0 } },
    retry: retry && { ...RETRY, ...retry },
  }
  Object.assign(state, { backend: { upstream }, route, ...more })
  const delivery = new Delivery(state, undefined as never, {
    undelivered: (_, status, reason) => log.push(`undelivered ${status} ${reason}`),
    select: () => log.push('another provider'),
    attempted: (name, { outcome, purpose }) => log.push(`${name} ${purpose}: ${outcome}`),
    retried: (name, reason) => log.push(`${name} retried: ${reason}`),
    broken: (_, error) => assert.fail(String(error)),
    mirrorBroke: () => assert.fail('there are no mirrors'),
  })
  delivery.start(undefined as never)
  return { delivery, state, endpoint, log }
}

type Events = (endpoint: Endpoint) => void
const refuse =
  (reason: 'connect-refused' | 'connect-timeout' | 'overloaded' | 'pending-timeout'): Events =>
  ({ waiting }) =>
    waiting.shift()?.unconnected(reason)
const fail =
  (reason: string, isUntouched: boolean): Events =>
  (endpoint) => {
    const connection = new Scripted()
    Object.assign(connection.connection, { isShared: false, isClosed: false })
    endpoint.connect(connection)
    connection.events?.failed(reason, isUntouched)
  }
const respond =
  (status: number): Events =>
  (endpoint) => {
    const connection = new Scripted()
    endpoint.connect(connection)
    connection.respond(`${status} X`)
    connection.events?.ended(undefined)
  }

describe('a request to a backend', () => {
  for (const [sentence, event, outcome, response, reason] of [
    [
      'that refuses connections',
      refuse('connect-refused'),
      'connect',
      '503 connect-refused',
      'connect',
    ],
    [
      'that accepts no connection in time',
      refuse('connect-timeout'),
      'connect',
      '504 connect-timeout',
      'connect',
    ],
    ['that has not responded in time', fail('timeout', false), 'timeout', '504 timeout', 'timeout'],
    ['that closes without a word', fail('reset', true), 'reset', '502 reset', 'reset'],
    [
      'that closes after a part of its response',
      fail('reset', false),
      'reset',
      '502 reset',
      undefined,
    ],
    [
      'that sends no HTTP',
      fail('bad-status-line', false),
      'invalid',
      '502 bad-status-line',
      undefined,
    ],
  ] as const) {
    it(`${sentence} gets the response ${response}, or sent again if that may help`, (context) => {
      context.mock.timers.enable({ apis: ['setTimeout'] })
      for (const retry of [
        undefined,
        { attempts: 0 },
        { onConnectionError: false, statuses: new Set<number>() },
      ]) {
        const { endpoint, log, state } = deliver(retry)
        event(endpoint)
        assert.deepEqual(log, [`up proxy: ${outcome}`, `undelivered ${response}`])
        assert.equal(state.retries, 0)
      }
      const { endpoint, log, state } = deliver({})
      event(endpoint)
      if (reason === undefined) {
        assert.deepEqual(log, [`up proxy: ${outcome}`, `undelivered ${response}`])
        return
      }
      assert.deepEqual(log.splice(0), [`up proxy: ${outcome}`, `up retried: ${reason}`])
      assert.equal(state.retries, 1)
      context.mock.timers.tick(200)
      respond(200)(endpoint)
      assert.deepEqual(log, ['response 200', 'end'])
      assert.equal(state.exchange.status, 200)
    })
  }

  for (const reason of ['overloaded', 'pending-timeout'] as const) {
    it(`that waited in vain for a connection says nothing about the endpoint: ${reason}`, () => {
      const { endpoint, log } = deliver(undefined)
      refuse(reason)(endpoint)
      assert.deepEqual(log, ['up proxy: shed', `undelivered 503 ${reason}`])
      assert.deepEqual(endpoint.attempts, [{ outcome: 'cancelled', status: 0 }])
    })
  }

  it('is sent again after some responses, as often as configured, and less and less often', (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    for (const attempts of [0, 1, 3]) {
      const { endpoint, log, state } = deliver({ attempts })
      for (let attempt = 0; attempt < attempts; attempt++) {
        const purpose = attempt === 0 ? 'proxy' : 'retry'
        respond(503)(endpoint)
        assert.deepEqual(log.splice(0), [`up ${purpose}: 5xx`, 'up retried: status'])
        // The delay doubles, give or take a quarter.
        context.mock.timers.tick(100 * 2 ** attempt * 0.74)
        assert.equal(endpoint.waiting.length, 0)
        context.mock.timers.tick(100 * 2 ** attempt * 0.52)
        assert.equal(endpoint.waiting.length, 1)
      }
      respond(503)(endpoint)
      assert.deepEqual(log, ['response 503', 'end'])
      assert.equal(state.retries, attempts)
    }
  })

  it('is not sent again after other responses', () => {
    for (const status of [200, 404, 500, 502]) {
      const { endpoint, log, delivery } = deliver({})
      respond(status)(endpoint)
      delivery.finish()
      const outcome = `${Math.trunc(status / 100)}xx`
      assert.deepEqual(log, [`response ${status}`, 'end', `up proxy: ${outcome}`])
      assert.deepEqual(endpoint.attempts, [{ outcome: 'responded', status }])
    }
  })

  it('is sent again only if the conditions before and after it say so', (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    for (const before of [true, false]) {
      for (const after of [true, false]) {
        const { endpoint, log, state } = deliver({
          precondition: () => before,
          condition: () => after,
        })
        respond(500)(endpoint)
        assert.equal(state.exchange.response, undefined)
        const isAgain = before && after
        assert.deepEqual(
          log,
          isAgain ? ['up proxy: 5xx', 'up retried: condition'] : ['response 500', 'end'],
        )
      }
    }
  })

  it('that is stopped is not sent again, and nothing follows', (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const { delivery, endpoint, log } = deliver({})
    refuse('connect-refused')(endpoint)
    log.length = 0
    delivery.stop()
    delivery.stop()
    context.mock.timers.tick(1_000)
    assert.deepEqual([log, endpoint.waiting.length], [[], 0])
    const second = deliver(undefined)
    second.delivery.stop()
    assert.deepEqual(second.log, ['up proxy: cancelled'])
    assert.equal(second.endpoint.cancelled, 1)
  })

  it('is undelivered if no endpoint can be chosen', () => {
    const { log, endpoint, delivery } = deliver(undefined)
    assert.equal(endpoint.waiting.length, 1)
    delivery.stop()
    log.length = 0
    endpoint.problem = 'unhealthy'
    delivery.start(undefined as never)
    assert.deepEqual(log, ['undelivered 503 unhealthy'])
  })
})

describe('a request to one of several providers', () => {
  /** Records what is reported to the selection of providers. */
  function selection(hasOther: boolean) {
    const reports: string[] = []
    const parts = {
      ...{ hasOther, chosen: { provider: 'first' } },
      responded: (milliseconds: number) =>
        void reports.push(milliseconds < 0 ? 'failed' : 'responded'),
      rest: (milliseconds: number) => void reports.push(`rest ${milliseconds}`),
    }
    return { reports, parts }
  }
  const call = { response: undefined }

  for (const [sentence, event, ofAny, ofCall, judgement] of [
    ['refuses connections', refuse('connect-refused'), 'connect', 'connect', ['failed']],
    ['accepts none in time', refuse('connect-timeout'), 'connect', 'connect', ['failed']],
    ['has no connection left', refuse('overloaded'), undefined, undefined, []],
    ['has not responded in time', fail('timeout', false), undefined, 'timeout', ['failed']],
    ['closes without a word', fail('reset', true), undefined, 'reset', ['failed']],
    ['responds with 503', respond(503), undefined, 'status', ['failed', 'rest 0']],
    ['responds with 429', respond(429), undefined, 'status', ['failed', 'rest 0']],
    ['responds with 400', respond(400), undefined, undefined, ['responded']],
    ['responds with 200', respond(200), undefined, undefined, ['responded']],
  ] as const) {
    it(`that ${sentence} goes to another one if that is safe`, () => {
      for (const [isCall, reason] of [
        [false, ofAny],
        [true, ofCall],
      ] as const) {
        for (const hasOther of [true, false]) {
          const { reports, parts } = selection(hasOther)
          const own = { selection: parts, ...(isCall ? { call } : {}) }
          const { endpoint, log, state } = deliver(undefined, own)
          event(endpoint)
          const isAgain = hasOther && reason !== undefined
          assert.equal(log.includes('another provider'), isAgain)
          assert.equal(log.includes(`up retried: ${reason}`), isAgain)
          assert.equal(state.retries, isAgain ? 1 : 0)
          assert.deepEqual(reports, judgement)
        }
      }
    })
  }
})
