import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import type { Reason } from '../../src/telemetry/definitions/labels.ts'
import { type Rejecting, sendRaw, startRejecting } from './rejecting.ts'

interface Case {
  readonly name: string
  /** A whole request, as text; for several, the last one is rejected. */
  readonly sent: string | readonly string[]
  readonly to?: 'models' | 'empty'
  readonly status: number
  readonly record: Partial<DecisionRecord>
  readonly policy?: string
}

const get = (path: string, headers = '', method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n${headers}\r\n`

const post = (path: string, body: unknown, headers = '') => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = 'content-type: application/json\r\naccept: application/json, text/event-stream\r\n'
  const length = `content-length: ${Buffer.byteLength(text)}\r\n`
  return `${get(path, `${type}${length}${headers}`, 'POST')}${text}`
}

const call = (content: string, headers = '', model = 'gpt-x') =>
  post('/v1/chat/completions', { model, messages: [{ role: 'user', content }] }, headers)

const rpc = (method: string, params: object = {}) =>
  post('/mcp', { jsonrpc: '2.0', id: 1, method, params })

const rejected = (cause: Reason, more: Partial<DecisionRecord> = {}) =>
  ({ kind: 'rejection', verdict: 'rejected', cause, ...more }) as const

const denied = (cause: Reason, more: Partial<DecisionRecord> = {}) =>
  ({ kind: 'rejection', verdict: 'denied', cause, ...more }) as const

/** Each reason of a response: what makes the gateway reject for it, or why it never does. */
const REASONS: { readonly [reason in Reason]: readonly Case[] | string } = {
  upstream: 'the response of a backend',
  redirect: 'not a rejection',
  'client-gone': 'there is nobody to respond to',
  draining: 'connections are closed without a response',
  'connect-refused': 'not in use',
  guardrail: 'not in use',
  'direct-response': [
    {
      name: 'as configured',
      sent: get('/own'),
      status: 418,
      record: rejected('direct-response'),
      policy: 'directResponse',
    },
  ],
  'cors-preflight': [
    {
      name: 'a preflight of another origin',
      sent: get(
        '/preflight',
        'origin: https://evil.test\r\naccess-control-request-method: GET\r\n',
        'OPTIONS',
      ),
      status: 204,
      record: rejected('cors-preflight', { detail: 'the origin is not allowed' }),
      policy: 'cors',
    },
  ],
  'bad-request': [
    {
      name: 'smuggling',
      sent: get('/open', 'content-length: 1\r\ntransfer-encoding: chunked\r\n', 'POST'),
      status: 400,
      record: rejected('bad-request', { detail: 'both-lengths' }),
    },
    {
      name: 'an encoded slash',
      sent: get('/open/%2F'),
      status: 400,
      record: rejected('bad-request', { detail: 'encoded-slash', host: 'a.test' }),
    },
    {
      name: 'a header that differs from another only by an underscore',
      sent: get('/open', 'x_user: a\r\nx-user: b\r\n'),
      status: 400,
      record: rejected('bad-request', { detail: 'ambiguous-header-name' }),
    },
    {
      name: 'CONNECT without a target',
      sent: 'CONNECT / HTTP/1.1\r\nhost: a.test\r\n\r\n',
      status: 400,
      record: rejected('bad-request'),
    },
    {
      name: 'a long head',
      sent: get('/open', `x-long: ${'x'.repeat(70_000)}\r\n`),
      status: 431,
      record: rejected('bad-request', { detail: 'head-too-large' }),
    },
    {
      name: 'a malformed MCP message',
      sent: post('/mcp', '{'),
      status: 400,
      record: rejected('bad-request', { stage: 'mcp' }),
    },
    {
      name: 'a malformed call',
      sent: post('/v1/chat/completions', '{'),
      to: 'models',
      status: 400,
      record: rejected('bad-request', { stage: 'llm' }),
    },
  ],
  'too-large': [
    {
      name: 'a body above the limit',
      sent: get('/open', 'content-length: 200000\r\n', 'POST'),
      status: 413,
      record: rejected('too-large', { detail: 'body-too-large' }),
    },
    {
      name: 'a body that a rule reads',
      sent: post('/read', 'y'.repeat(2_000)),
      status: 413,
      record: rejected('too-large', { detail: 'buffer' }),
    },
  ],
  'no-route': [
    { name: 'none', sent: get('/'), to: 'empty', status: 404, record: rejected('no-route') },
  ],
  authentication: [
    {
      name: 'no credential',
      sent: get('/token'),
      status: 401,
      record: { kind: 'authentication', verdict: 'denied', cause: 'credentials' },
    },
  ],
  authorization: [
    {
      name: 'a rule',
      sent: get('/rules'),
      status: 403,
      record: { kind: 'authorization', verdict: 'denied', cause: 'matched' },
    },
    {
      name: 'a model that the key may not use',
      sent: call('hello', 'authorization: Bearer sk-narrow\r\n'),
      to: 'models',
      status: 403,
      record: denied('authorization', { detail: 'model-not-allowed', stage: 'llm' }),
    },
    {
      name: 'a model without a price',
      sent: call('hello', 'x-dollars: a\r\n', 'free'),
      to: 'models',
      status: 403,
      record: denied('authorization', { stage: 'llm' }),
    },
    {
      name: 'a guard',
      sent: call('this is forbidden'),
      to: 'models',
      status: 403,
      record: denied('authorization', { detail: 'guard', stage: 'llm' }),
      policy: 'guardrails',
    },
    {
      name: 'a request that rules about models cannot read',
      sent: post('/unread/v1/files', '{}'),
      status: 403,
      record: denied('authorization', { detail: 'unread-model' }),
    },
    {
      name: 'tools that are hidden from a list',
      sent: rpc('tools/list'),
      status: 200,
      record: denied('authorization', {
        ...{ skipped: true, stage: 'mcp', detail: '1 × tool of own: hidden' },
      }),
    },
    {
      name: 'a tool that rules deny',
      sent: rpc('tools/call', { name: 'read', arguments: { name: 'private/salaries' } }),
      status: 200,
      record: {
        ...{ kind: 'authorization', cause: 'no-allow-match', stage: 'mcp' },
        // The rule about this tool, and not the one that requires less of another.
        nearest: { index: 1 } as NonNullable<DecisionRecord['nearest']>,
      },
    },
  ],
  'external-authorization': [
    {
      name: 'a service that is down',
      sent: get('/service'),
      status: 403,
      record: { kind: 'authentication', cause: 'credentials' },
    },
  ],
  'external-processing': [
    {
      name: 'a service that is down',
      sent: get('/processor'),
      status: 500,
      record: denied('external-processing'),
      policy: 'extProc',
    },
  ],
  csrf: [
    {
      name: 'a page of another site',
      sent: get('/csrf', 'sec-fetch-site: cross-site\r\n', 'POST'),
      status: 403,
      record: { kind: 'csrf', cause: 'cross-site' },
    },
  ],
  'rate-limit': [
    {
      name: 'too many requests',
      sent: [get('/limited'), get('/limited')],
      status: 429,
      record: rejected('rate-limit'),
      policy: 'localRateLimit',
    },
    {
      name: 'a budget in requests',
      sent: [call('hello', 'x-user: a\r\n'), call('hello', 'x-user: a\r\n')],
      to: 'models',
      status: 429,
      record: rejected('rate-limit', { detail: 'budget', stage: 'llm' }),
      policy: 'budgets',
    },
    {
      name: 'a budget in dollars',
      sent: [
        call('hello', 'x-dollars: b\r\nx-user: b\r\n'),
        call('hello', 'x-dollars: b\r\nx-user: c\r\n'),
      ],
      to: 'models',
      status: 429,
      record: rejected('rate-limit', { detail: 'budget', stage: 'llm' }),
      policy: 'budgets',
    },
  ],
  overload: 'see the connection limit below',
  'backend-auth': [
    {
      name: 'no credentials to sign with',
      sent: get('/credential'),
      status: 500,
      record: rejected('backend-auth'),
      policy: 'backendAuth',
    },
  ],
  'endpoint-picker': [
    {
      name: 'a picker that is down',
      sent: get('/picked'),
      status: 503,
      record: rejected('endpoint-picker'),
      policy: 'inferenceRouting',
    },
  ],
  'no-backend': [
    { name: 'no weight', sent: get('/weightless'), status: 500, record: rejected('no-backend') },
  ],
  'upstream-connect': [
    { name: 'down', sent: get('/dead'), status: 503, record: rejected('upstream-connect') },
  ],
  'upstream-reset': [
    { name: 'a reset', sent: get('/reset'), status: 502, record: rejected('upstream-reset') },
  ],
  'upstream-invalid': [
    { name: 'garbage', sent: get('/garbage'), status: 502, record: rejected('upstream-invalid') },
  ],
  'upstream-timeout': [
    {
      name: 'a backend without a response',
      sent: get('/slow-backend'),
      status: 504,
      record: rejected('upstream-timeout'),
    },
  ],
  'request-timeout': [
    { name: 'no response', sent: get('/slow'), status: 504, record: rejected('request-timeout') },
  ],
  'body-timeout': [
    {
      name: 'a body that does not arrive',
      sent: get('/read', 'content-length: 10\r\n', 'POST'),
      status: 408,
      record: rejected('body-timeout'),
    },
  ],
  'invalid-configuration': [
    {
      name: 'an invalid route',
      sent: get('/invalid'),
      status: 500,
      record: rejected('invalid-configuration'),
    },
  ],
  'invalid-policy': [
    {
      name: 'an invalid policy',
      sent: get('/broken'),
      status: 500,
      record: { kind: 'authorization', cause: 'invalid-policy' },
    },
  ],
  'invalid-backend': [
    {
      name: 'a backend that does not exist',
      sent: get('/missing'),
      status: 500,
      record: rejected('invalid-backend'),
    },
  ],
  'expression-failed': [
    {
      name: 'a body that cannot be computed',
      sent: get('/broken-own'),
      status: 500,
      record: rejected('expression-failed'),
      policy: 'directResponse',
    },
  ],
  internal: 'test/proxy/planted-throws.test.ts',
}

describe('a response of the gateway that rejects', () => {
  let gateway: Rejecting

  before(async () => {
    gateway = await startRejecting()
  })

  after(() => gateway.close())

  for (const [reason, cases] of Object.entries(REASONS)) {
    if (typeof cases === 'string') continue
    for (const { name, sent, to, status, record, policy } of cases) {
      it(`${reason}: ${name}`, async () => {
        const port = gateway.ports[to ?? 'default']
        let text = ''
        for (const one of [sent].flat()) text = await sendRaw(port, one)
        assert.equal(text.slice(0, 12), `HTTP/1.1 ${status}`, text)
        const id = /^x-request-id: (.+)\r$/im.exec(text)?.[1] ?? assert.fail(text)
        const [found, ...more] = gateway.own.decisions({ id })
        assert.deepEqual(more, [])
        const own = found ?? assert.fail(`no record of ${text}`)
        const wanted = { ...record, status }
        assert.partialDeepStrictEqual(own, wanted)
        assert.equal(own.by?.kind, policy)
        if (policy !== undefined) assert.match(own.by?.origin ?? '', /^gateway\.yaml:\d+:\d+$/)
      })
    }
  }
})
