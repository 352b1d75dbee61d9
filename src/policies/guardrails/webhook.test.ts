import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { exchangeOf } from '../../../test/fuzz/exchanges.ts'
import { ScriptedServices } from '../../../test/program/scripted-services.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import type { CompileContext } from '../define.ts'
import type { Webhook } from './schema.ts'
import { compileWebhook } from './webhook.ts'

const MESSAGES = [
  { role: 'system', content: 'be nice' },
  { role: 'user', content: 'hello' },
]

describe('a guardrail webhook', () => {
  const services = new ScriptedServices()
  /** Computed headers have the value of their expression here. */
  const context = {
    ...services.context,
    compile: (text: string) => ({ evaluate: () => () => (text === '' ? undefined : text) }),
  } as unknown as CompileContext

  beforeEach(() => {
    services.arrived.length = 0
    services.respondWith = () => ({ body: '{"action":{}}' })
  })

  async function call(phase: 'request' | 'response' = 'request', more: Partial<Webhook> = {}) {
    const value = {
      path: '/guard',
      timeout: 3_000,
      includeRequestHeaders: [],
      headers: {},
      ...more,
    }
    const webhook = compileWebhook(value as unknown as Webhook, {} as ValidPolicy, context, 'f')
    const headers = { 'x-user': 'ann', host: 'h', accept: 'a', 'content-type': 'c', cookie: 'a=b' }
    return webhook(exchangeOf({ headers }), phase, MESSAGES)
  }
  const sent = () => services.arrived[0] ?? assert.fail()
  const replies = (value: unknown, status = 200) => {
    services.respondWith = () => ({
      status,
      body: typeof value === 'string' ? value : JSON.stringify(value),
    })
  }

  it('receives the messages of a request, and those of a response as choices', async () => {
    assert.deepEqual(await call('request'), { kind: 'passed' })
    const { path, method, timeout, maxBytes, headers, body } = sent()
    assert.deepEqual([method, path, timeout, maxBytes], ['POST', '/guard/request', 3_000, 16 << 20])
    assert.deepEqual(headers, { 'content-type': 'application/json', accept: 'application/json' })
    assert.deepEqual(JSON.parse(body), { body: { messages: MESSAGES } })
    services.arrived.length = 0
    await call('response')
    assert.equal(sent().path, '/guard/response')
    assert.deepEqual(JSON.parse(sent().body), {
      body: { choices: MESSAGES.map((message) => ({ message })) },
    })
  })

  it('receives the configured headers of the client, except those of the body', async () => {
    const includeRequestHeaders = ['X-User', 'host', 'accept', 'content-type', 'x-absent']
    await call('request', { includeRequestHeaders })
    const usual = { 'content-type': 'application/json', accept: 'application/json' }
    assert.deepEqual(sent().headers, { ...usual, 'x-user': 'ann' })
  })

  it('receives computed headers in place of those of the client', async () => {
    const computed = {
      'X-User': 'bob',
      'x-none': '',
      'x-lines': 'a\r\nb: c',
      'content-length': '7',
      ':authority': 'other',
      ':path': '/own',
    }
    await call('request', { includeRequestHeaders: ['x-user'], headers: computed })
    const usual = { 'content-type': 'application/json', accept: 'application/json' }
    assert.deepEqual(sent().headers, { ...usual, 'x-user': 'bob' })
    assert.equal(sent().path, '/own')
    services.arrived.length = 0
    // Without a value, the client's own is not sent either.
    await call('request', { includeRequestHeaders: ['x-user'], headers: { 'x-user': '' } })
    assert.deepEqual(sent().headers, usual)
  })

  for (const path of ['', 'own', '/a b', '/a\r\nb', 'https://other/']) {
    it(`is not called at the computed path ${JSON.stringify(path)}`, async () => {
      await call('request', { headers: { ':path': path } })
      assert.equal(sent().path, '/guard/request')
    })
  }

  for (const [status, expected] of [
    [undefined, undefined],
    [null, undefined],
    [399, undefined],
    [400, 400],
    ['451', 451],
    [599, 599],
    [600, undefined],
    [200, undefined],
    [400.5, undefined],
    ['x', undefined],
  ] as const) {
    it(`rejects a message with status ${JSON.stringify(status)} as ${expected ?? 'by default'}`, async () => {
      replies({ action: { body: 'no', status_code: status } })
      const rest = expected === undefined ? {} : { status: expected }
      assert.deepEqual(await call(), { kind: 'rejected', message: 'no', ...rest })
    })
  }

  for (const [what, value, verdict] of [
    ['passes without a body', { action: { reason: 'x' } }, { kind: 'passed' }],
    ['passes with the body null', { action: { body: null } }, { kind: 'passed' }],
    [
      'with a status but no body',
      { action: { status_code: 403 } },
      'the response has a status but no body',
    ],
    ['without an action', {}, 'the response has no action'],
    ['with an action that is a list', { action: [] }, 'the response has no action'],
    ['with an action that is null', { action: null }, 'the response has no action'],
    ['that is a list', [], 'the response has no action'],
    ['that is not JSON', 'x', 'the response has no action'],
    ['with two actions', '{"action":{},"action":{}}', 'the response has no action'],
    ['with a body without messages', { action: { body: {} } }, 'the response has no messages'],
    ['with a body that is a number', { action: { body: 7 } }, 'the response has no messages'],
    [
      'with a message without text',
      { action: { body: { messages: [{}, {}] } } },
      'the response has no messages',
    ],
    [
      'with too few messages',
      { action: { body: { messages: [{ content: 'a' }] } } },
      'unexpected number of messages',
    ],
    [
      'with the choices of a response',
      { action: { body: { choices: [] } } },
      'the response has no messages',
    ],
  ] as const) {
    it(`a reply ${what}: ${typeof verdict === 'string' ? 'failure' : 'passed'}`, async () => {
      replies(value)
      const expected = typeof verdict === 'string' ? { kind: 'failed', detail: verdict } : verdict
      assert.deepEqual(await call(), expected)
    })
  }

  it('replaces the texts of all messages', async () => {
    replies({ action: { body: { messages: [{ content: 'x' }, { content: '' }] } } })
    assert.deepEqual(await call(), { kind: 'masked', texts: ['x', ''] })
    const choices = [{ message: { content: 'x' } }, { message: { content: 'y' } }]
    replies({ action: { body: { choices } } })
    assert.deepEqual(await call('response'), { kind: 'masked', texts: ['x', 'y'] })
    replies({ action: { body: { choices: [{ content: 'x' }, { content: 'y' }] } } })
    assert.equal((await call('response')).kind, 'failed')
  })

  it('that fails has no verdict', async () => {
    services.respondWith = () => ({ failure: 'timeout' })
    assert.deepEqual(await call(), { kind: 'failed', detail: 'timeout' })
    replies({ action: {} }, 201)
    assert.deepEqual(await call(), { kind: 'failed', detail: 'status 201' })
  })
})
