import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Exchange } from '../../exchange/exchange.ts'
import type { GuardMcpText } from './guarded-message.ts'
import { guardServer } from './guarded-server.ts'
import type { McpServer, Sending, SentMessage, ServerEvents } from './server.ts'

/* Long messages are searched in turns, between which other requests get theirs. */

const EXCHANGE = {} as Exchange
const LONG = 'x'.repeat(1 << 17)

/** Each long text takes this many steps of ten milliseconds. */
function guardOf(steps: number, onStep: () => void = () => {}): GuardMcpText {
  return function* (text) {
    for (let at = 0; at < steps && text.length > 1_000; at++) {
      const until = performance.now() + 9
      while (performance.now() < until);
      onStep()
      yield
    }
    return text.includes('bad') ? { rejection: 'no' } : { text: text.replaceAll('x', 'y') }
  }
}

const message = (text: string): SentMessage => ({
  text: JSON.stringify({ id: 1, params: { arguments: { text } } }),
  kind: 'request',
  method: 'tools/call',
  id: '1',
  name: undefined,
  version: undefined,
  session: { key: '', id: undefined, initialize: undefined },
})
const result = (text: string) => JSON.stringify({ id: 1, result: { content: [{ text }] } })

class Server implements McpServer<string> {
  readonly name = 'one'
  readonly sent: string[] = []
  events: ServerEvents | undefined
  resumed = 0
  stopped = 0

  send(_: string, __: Exchange, { text }: SentMessage, events: ServerEvents): Sending {
    this.sent.push(text)
    this.events = events
    return { stop: () => void this.stopped++, resume: () => void this.resumed++ }
  }
}

function recorder(isReady = () => true) {
  const seen: string[] = []
  const events: ServerEvents = {
    began: (form) => void seen.push(`began ${form}`),
    received: ({ text = '' }) => {
      seen.push(`received ${text.slice(0, 60)}`)
      return isReady()
    },
    ended: () => void seen.push('ended'),
    failed: ({ status, body = '', error }) => {
      seen.push(`failed ${status} ${body.slice(0, 9)}${error === undefined ? '' : ` ${error}`}`)
    },
  }
  return { seen, events }
}

const settled = async (isDone: () => boolean) => {
  for (let turn = 0; turn < 1_000 && !isDone(); turn++) await new Promise(setImmediate)
}

describe('guards of long messages', () => {
  it('yield between their steps, and then send the result', async () => {
    const server = new Server()
    let turns = 0
    let stepsOfTurn = 0
    let most = 0
    const count = () => {
      turns++
      stepsOfTurn = 0
      if (server.sent.length === 0) setImmediate(count)
    }
    setImmediate(count)
    const request = guardOf(5, () => {
      most = Math.max(most, ++stepsOfTurn)
    })
    const guarded = guardServer(server, () => ({ request, response: undefined }))
    guarded.send('', EXCHANGE, message(LONG), recorder().events)
    assert.deepEqual(server.sent, [])
    await settled(() => server.sent.length > 0)
    assert.equal(server.sent[0], message(LONG.replaceAll('x', 'y')).text)
    assert.equal(most, 1, 'steps of one turn, each of which takes all of it')
    assert.ok(turns >= 5, `${turns} turns`)
    guarded.send('', EXCHANGE, message('x'), recorder().events)
    assert.equal(server.sent[1], message('y').text, 'a short one is sent at once')
  })

  it('send nothing that is rejected or abandoned', async () => {
    const server = new Server()
    const guarded = guardServer(server, () => ({ request: guardOf(2), response: undefined }))
    const { seen, events } = recorder()
    guarded.send('', EXCHANGE, message(`${LONG}bad`), events)
    await settled(() => seen.length === 3)
    assert.match(seen.join(), /^began message,received .*"no.*,ended$/)
    guarded.send('', EXCHANGE, message(LONG), events).stop()
    await settled(() => false)
    assert.deepEqual(server.sent, [])
  })

  it('keep the order of server messages, and backpressure', async () => {
    const server = new Server()
    const guarded = guardServer(server, () => ({ request: undefined, response: guardOf(2) }))
    let isReady = true
    const { seen, events } = recorder(() => isReady)
    const sending = guarded.send('', EXCHANGE, message('x'), events)
    const own = server.events as ServerEvents
    own.began('stream', undefined)
    assert.equal(own.received({ text: result('x1'), block: undefined }), true)
    assert.equal(own.received({ text: result(`2${LONG}`), block: undefined }), false)
    assert.equal(own.received({ text: result('x3'), block: undefined }), false)
    own.ended()
    assert.equal(seen.length, 2)
    await settled(() => seen.length === 5)
    assert.match(seen.join(), /^began stream,[^,]*,?[^,]*"y1".*"2yyy.*"y3".*ended$/)
    assert.equal(server.resumed, 1)
    isReady = false
    own.received({ text: result(`4${LONG}`), block: undefined })
    await settled(() => seen.length === 6)
    assert.equal(server.resumed, 1, 'whoever gets them takes no more')
    sending.resume()
    assert.equal(server.resumed, 2)
  })

  it('report errors, and always end a call', async () => {
    const server = new Server()
    // biome-ignore lint/correctness/useYield: it throws before its first step
    const broken: GuardMcpText = function* () {
      throw new Error('planted')
    }
    const { seen, events } = recorder()
    const requests = guardServer(server, () => ({ request: broken, response: undefined }))
    requests.send('', EXCHANGE, message(LONG), events)
    await settled(() => seen.length === 1)
    const responses = guardServer(server, () => ({ request: undefined, response: broken }))
    responses.send('', EXCHANGE, message('x'), events)
    server.events?.received({ text: result(LONG), block: undefined })
    server.events?.ended()
    await settled(() => seen.length === 2)
    assert.deepEqual(seen, ['failed 500  Error: planted', 'failed 500  Error: planted'])
  })
})
