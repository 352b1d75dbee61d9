import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Exchange } from '../../../exchange/exchange.ts'
import { HeldSession } from '../held-session.ts'
import type { ServerEvents, ServerFailure } from '../server.ts'
import { StatelessSessions } from './sessions.ts'

const EXCHANGE = {} as Exchange
const VERSION = '2026-07-28'

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number }
}

/** A server with sessions, which responds to `initialize` and otherwise does as the test says. */
class Gateway {
  readonly sessions: HeldSession[] = []
  readonly written: Message[] = []
  readonly #stateless = new StatelessSessions({
    open: () => this.#open(),
    scopeOf: () => 'caller',
  })

  #open(): HeldSession {
    const write = (text: string) => {
      const message = JSON.parse(text) as Message
      this.written.push(message)
      const { id, method } = message
      const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } }
      const introduction = { protocolVersion: '2025-11-25', capabilities, serverInfo: {} }
      if (method === 'initialize') queueMicrotask(() => this.say({ id, result: introduction }))
      if (method === 'resources/subscribe') queueMicrotask(() => this.say({ id, result: {} }))
      return true
    }
    const session = new HeldSession({ write, close() {} })
    this.sessions.push(session)
    return session
  }

  say(message: object): void {
    this.sessions.at(-1)?.receive(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  /** The newest message with this method. */
  newest(method: string): Message | undefined {
    return this.written.findLast((message) => message.method === method)
  }

  request(method: string, params: object = {}, capabilities: object = {}) {
    const received: Message[] = []
    const failures: ServerFailure[] = []
    const events: ServerEvents = {
      began() {},
      received: ({ text = '' }) => received.push(JSON.parse(text) as Message) > 0,
      ended() {},
      failed: (failure) => void failures.push(failure),
    }
    const prefix = 'io.modelcontextprotocol/'
    const _meta = {
      [`${prefix}protocolVersion`]: VERSION,
      [`${prefix}clientCapabilities`]: capabilities,
    }
    const text = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } })
    const session = { key: '', id: undefined, initialize: undefined }
    const message = { kind: 'request', method, id: '7', text, name: undefined } as const
    const sent = { ...message, version: VERSION, session }
    const sending = this.#stateless.send(EXCHANGE, sent, events)
    return { received, failures, sending }
  }
}

const ELICITS = { elicitation: { form: {}, url: {} } }

describe('a session that the gateway holds for clients without one', () => {
  it('sends changes to the clients that listen, each under its own subscription', async () => {
    const gateway = new Gateway()
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['note://one'] }
    const { received, sending } = gateway.request('subscriptions/listen', { notifications })
    await pause(5)
    assert.equal(received[0]?.method, 'notifications/subscriptions/acknowledged')
    assert.deepEqual(received[0]?.params?.['notifications'], notifications)
    gateway.say({ method: 'notifications/resources/updated', params: { uri: 'note://one' } })
    gateway.say({ method: 'notifications/resources/updated', params: { uri: 'note://two' } })
    gateway.say({ method: 'notifications/tools/list_changed' })
    gateway.say({ method: 'notifications/prompts/list_changed' })
    const methods = received.slice(1).map(({ method }) => method)
    assert.deepEqual(methods, [
      'notifications/resources/updated',
      'notifications/tools/list_changed',
    ])
    for (const { params } of received) {
      assert.deepEqual(params?.['_meta'], { 'io.modelcontextprotocol/subscriptionId': 7 })
    }
    assert.equal(gateway.sessions[0]?.isBusy, true)
    sending.stop()
    assert.deepEqual(gateway.newest('resources/unsubscribe')?.params, { uri: 'note://one' })
  })

  it('serves parallel calls, unless the server may request input during one', async () => {
    const gateway = new Gateway()
    gateway.request('tools/call', { name: 'a' })
    gateway.request('tools/call', { name: 'b' })
    gateway.request('tools/list')
    assert.equal(gateway.sessions.length, 1)
    gateway.request('tools/call', { name: 'c' }, ELICITS)
    gateway.request('tools/call', { name: 'd' }, ELICITS)
    gateway.request('tools/list', {}, ELICITS)
    assert.equal(gateway.sessions.length, 3)
  })

  it('responds to a ping, and rejects what no client can serve', async () => {
    const gateway = new Gateway()
    gateway.request('tools/list', {}, ELICITS)
    await pause(5)
    gateway.say({ id: 1, method: 'ping' })
    assert.deepEqual(gateway.written.at(-1)?.result, {})
    gateway.say({ id: 2, method: 'elicitation/create', params: {} })
    assert.equal(gateway.written.at(-1)?.error?.code, -32601)
  })

  it('fails a call whose server requires a capability that the client lacks', async () => {
    const gateway = new Gateway()
    const { failures } = gateway.request('tools/call', { name: 'a' })
    await pause(5)
    gateway.say({ id: 1, method: 'sampling/createMessage', params: {} })
    assert.equal(failures[0]?.status, 400)
    const { error } = JSON.parse(failures[0]?.body ?? '{}') as Message
    assert.deepEqual(error, {
      code: -32021,
      message: 'The server requires a capability that the client did not declare',
      data: { requiredCapabilities: { sampling: {} } },
    })
  })

  it('turns the pages that an error requires into requests for input', async () => {
    const gateway = new Gateway()
    const { received } = gateway.request('tools/call', { name: 'a' }, ELICITS)
    await pause(5)
    const id = gateway.newest('tools/call')?.id
    const page = { url: 'https://sign.in', message: 'Sign in', elicitationId: 'x' }
    const data = { elicitations: [{ mode: 'url', ...page }] }
    gateway.say({ id, error: { code: -32042, message: 'Sign in', data } })
    assert.equal(received[0]?.result?.['resultType'], 'input_required')
    const [request] = Object.values(received[0]?.result?.['inputRequests'] as object)
    const { elicitationId: _, ...params } = { mode: 'url', ...page }
    assert.deepEqual(request, { method: 'elicitation/create', params })
  })

  it('cancels the call of a client that has disconnected', async () => {
    const gateway = new Gateway()
    const { sending } = gateway.request('tools/call', { name: 'a' })
    await pause(5)
    sending.stop()
    const id = gateway.newest('tools/call')?.id
    assert.equal(gateway.newest('notifications/cancelled')?.params?.['requestId'], id)
    assert.equal(gateway.sessions[0]?.isBusy, false)
  })
})
