import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Exchange } from '../../exchange/exchange.ts'
import { collect } from './collect.ts'
import { HeldSession } from './held-session.ts'
import { type McpServer, NOT_SENDING, type SentMessage, type ServerEvents } from './server.ts'
import { type McpResponder, Sendings, type Serving } from './serving.ts'

/* IDs of requests: a server writes the same ID as its own library does. */

const EXCHANGE = {} as Exchange
const SAME: readonly (readonly [client: string, server: string])[] = [
  ['"gr\\u00f6\\u00dfe"', '"größe"'],
  ['"a\\/b"', '"a/b"'],
  ['1.0', '1'],
  ['1e2', '100'],
  ['"1"', '"1"'],
]

function requestWith(id: string): SentMessage {
  const text = `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`
  const session = { key: '', id: undefined, initialize: undefined }
  return { text, kind: 'request', method: 'tools/list', id, name: undefined, version: '', session }
}

const responseWith = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[]}}`

describe('request ids', () => {
  for (const [client, server] of SAME) {
    it(`${client} is ${server} to a server with one channel`, () => {
      const session = new HeldSession({ write: () => true, close() {} })
      const heard: string[] = []
      const events: ServerEvents = {
        began() {},
        received: ({ text = '' }) => heard.push(text) > 0,
        ended: () => void heard.push('ended'),
        failed: ({ reason }) => void heard.push(reason),
      }
      const sending = session.send(requestWith(client), EXCHANGE, events, undefined)
      session.receive(responseWith(server === '"1"' ? '1' : '"other"'))
      assert.deepEqual(heard, [], 'of another request')
      session.receive(responseWith(server))
      assert.deepEqual(heard, [responseWith(server), 'ended'])
      sending.stop()
    })

    it(`${client} is ${server} to one of several servers`, async () => {
      const own: McpServer<unknown> = {
        name: 'own',
        send(_, __, ___, events) {
          queueMicrotask(() => {
            events.received({ text: responseWith(server), block: undefined })
            events.ended()
          })
          return NOT_SENDING
        },
      }
      const responder = {} as McpResponder
      const serving = {
        sendings: new Sendings(),
        responder,
        exchange: EXCHANGE,
      } as unknown as Serving<unknown>
      const collected = await collect(own, undefined, serving, requestWith(client))
      assert.ok(collected.ok)
    })
  }

  it('of clients and servers are separate: a response is sent while its number is in use', () => {
    const written: string[] = []
    const session = new HeldSession({ write: (text) => written.push(text) > 0, close() {} })
    const failures: string[] = []
    const events: ServerEvents = {
      began() {},
      received: () => true,
      ended() {},
      failed: ({ reason }) => void failures.push(reason),
    }
    session.send(requestWith('2'), EXCHANGE, events, undefined)
    const response = { ...requestWith('2'), kind: 'response', method: '' } as const
    session.send({ ...response, text: responseWith('2') }, EXCHANGE, events, undefined)
    assert.deepEqual(failures, [])
    assert.equal(written.at(-1), responseWith('2'))
    session.send(requestWith('2'), EXCHANGE, events, undefined)
    assert.deepEqual(failures, ['not-writable'], 'two requests of one number')
  })

  it('are cancelled as the client sent them', () => {
    const written: string[] = []
    const session = new HeldSession({ write: (text) => written.push(text) > 0, close() {} })
    const events: ServerEvents = { began() {}, received: () => true, ended() {}, failed() {} }
    session.send(requestWith('"a\\u0062"'), EXCHANGE, events, undefined).stop()
    assert.match(written.at(-1) ?? '', /"requestId":"a\\u0062"/)
  })
})
