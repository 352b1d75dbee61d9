import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { NOBODY, type Provider, startProvider } from './providers.ts'

let openai: ModelProvider
let service: Provider
let port = 0
let running: Deciding | undefined

const configOf = (guardrails: object) => ({
  gateways: { default: { port } },
  llm: {
    models: [
      {
        name: 'gpt-x',
        provider: 'openAI',
        params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${openai.port}` },
      },
    ],
    policies: { guardrails },
  },
})

async function serve(guardrails: object): Promise<void> {
  const text = JSON.stringify(configOf(guardrails))
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(content: string, more: object = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-tenant': 'blue' },
    body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content }], ...more }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const json = (body: string) => JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))
const asked = () => service.arrived.map(({ url, body }) => [url, json(body)] as const)
const says = (said: object | string, status = 200) => {
  service.respondWith = (_, response) => {
    response.writeHead(status).end(typeof said === 'string' ? said : JSON.stringify(said))
  }
}
const errorsOf = (guardrails: object) =>
  loadText(JSON.stringify(configOf(guardrails)), 'gateway.yaml', { environment: {} })
    .result.diagnostics.filter(({ severity }) => severity === 'error')
    .map(({ message }) => message)

describe('guards that call vendor services', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    service = await startProvider('service')
    port = await freePort()
  })
  after(async () => {
    await running?.stop()
    await openai.close()
    await service.close()
  })
  beforeEach(() => {
    openai.arrived.length = 0
    openai.behaviour = {}
    service.arrived.length = 0
  })

  describe('openAIModeration', () => {
    const guard = (more: object = {}, at = service.port) => ({
      openAIModeration: {
        host: `http://127.0.0.1:${at}`,
        policies: { backendAuth: { key: 'sk-moderation' } },
        ...more,
      },
    })
    const results = (...flags: boolean[]) => ({ results: flags.map((flagged) => ({ flagged })) })

    it('admits content that is not flagged, with its key', async () => {
      await serve({ request: [guard()] })
      says(results(false))
      assert.equal((await call('hello')).status, 200)
      assert.deepEqual(asked(), [
        ['/v1/moderations', { model: 'omni-moderation-latest', input: ['hello'] }],
      ])
      assert.equal(service.arrived[0]?.headers['authorization'], 'Bearer sk-moderation')
    })

    it('rejects content if any of the texts is flagged, with the body of the policy', async () => {
      await serve({ request: [{ ...guard(), rejection: { body: 'Blocked.' } }] })
      says(results(false, true))
      const messages = ['a', 'b'].map((content) => ({ role: 'user', content }))
      const { status, text, headers } = await call('', { messages })
      assert.deepEqual([status, text], [403, 'Blocked.'])
      assert.match(headers.get('content-type') ?? '', /^text\/plain/)
      assert.equal(openai.arrived.length, 0)
    })

    it('checks responses too', async () => {
      await serve({ response: [guard()] })
      says(results(true))
      assert.equal((await call('hello')).status, 403)
      assert.equal(openai.arrived.length, 1)
    })

    for (const [what, said, status] of [
      ['an error', results(false), 500],
      ['no JSON', 'fine', 200],
      ['too few results', { results: [] }, 200],
      ['a result without a verdict', { results: [{}] }, 200],
      ['a null', { results: [null] }, 200],
      ['a redirect', results(false), 302],
    ] as const) {
      it(`fails closed after ${what}, and open if it is told to`, async () => {
        says(said, status)
        await serve({ request: [guard()] })
        assert.equal((await call('hello')).status, 503)
        assert.equal(openai.arrived.length, 0)
        await serve({ request: [guard({ failureMode: 'failOpen' })] })
        assert.equal((await call('hello')).status, 200)
      })
    }

    it('fails closed if the service is unreachable, and without a key', async () => {
      await serve({ request: [guard({}, NOBODY.port)] })
      assert.equal((await call('hello')).status, 503)
      service.arrived.length = 0
      says(results(false))
      await serve({ request: [guard({ policies: {} })] })
      assert.equal((await call('hello')).status, 503)
      assert.equal(service.arrived.length, 0)
    })
  })

  describe('azureContentSafety', () => {
    const guard = (more: object = {}) => ({
      azureContentSafety: {
        endpoint: `http://127.0.0.1:${service.port}`,
        analyzeText: {},
        policies: { backendAuth: { key: 'the-key' } },
        ...more,
      },
    })
    const analysis = (severity: number, blocklistsMatch: object[] = []) => ({
      blocklistsMatch,
      categoriesAnalysis: [
        { category: 'Hate', severity: 0 },
        { category: 'Violence', severity },
      ],
    })

    it('admits below the threshold, and rejects at it', async () => {
      await serve({ request: [guard({ analyzeText: { severityThreshold: 4 } })] })
      for (const [severity, status] of [
        [0, 200],
        [2, 200],
        [4, 403],
        [6, 403],
      ] as const) {
        says(analysis(severity))
        assert.equal((await call('hello')).status, status, String(severity))
      }
      const [first] = asked()
      assert.deepEqual(first, [
        '/contentsafety/text:analyze?api-version=2024-09-01',
        { text: 'hello', blocklistNames: [], haltOnBlocklistHit: false },
      ])
      assert.equal(service.arrived[0]?.headers['ocp-apim-subscription-key'], 'the-key')
    })

    it('rejects texts on a blocklist', async () => {
      await serve({ request: [guard({ analyzeText: { blocklistNames: ['words'] } })] })
      says(analysis(0, [{ blocklistName: 'words' }]))
      assert.equal((await call('hello')).status, 403)
    })

    it('looks for jailbreaks in requests only', async () => {
      await serve({ request: [guard({ analyzeText: undefined, detectJailbreak: {} })] })
      for (const [detected, status] of [
        [false, 200],
        [true, 403],
      ] as const) {
        says({ jailbreakAnalysis: { detected } })
        assert.equal((await call('hello')).status, status)
      }
      assert.equal(
        service.arrived[0]?.url,
        '/contentsafety/text:detectJailbreak?api-version=2024-02-15-preview',
      )
      service.arrived.length = 0
      await serve({ response: [guard({ detectJailbreak: {} })] })
      says(analysis(0))
      assert.equal((await call('hello')).status, 200)
      assert.equal(service.arrived.length, 1)
    })

    it('checks all of a long text, in overlapping chunks', async () => {
      await serve({ request: [guard()] })
      service.respondWith = (_, response) => {
        const { text } = json(service.arrived.at(-1)?.body ?? '')
        assert.ok([...text].length <= 10_000)
        response.end(JSON.stringify(analysis(text.includes('the end') ? 6 : 0)))
      }
      const { status } = await call(`${'😀'.repeat(9_997)}the end`)
      assert.equal(status, 403)
      assert.equal((await call('x'.repeat(25_000))).status, 200)
    })

    for (const [what, said] of [
      ['nothing', {}],
      ['a severity that is none', { categoriesAnalysis: [{ category: 'Hate' }] }],
      ['no list', { categoriesAnalysis: {} }],
    ] as const) {
      it(`fails closed after ${what}`, async () => {
        await serve({ request: [guard()] })
        says(said)
        assert.equal((await call('hello')).status, 503)
        assert.equal(openai.arrived.length, 0)
      })
    }

    it('requires a check to be configured', () => {
      const [message] = errorsOf({ request: [guard({ analyzeText: undefined })] })
      assert.match(message ?? '', /no analysis is enabled/)
    })
  })

  describe('the webhook', () => {
    it('gets headers and a path by expression', async () => {
      const headers = {
        ':path': "'/tenants/' + request.headers['x-tenant']",
        'x-own': 'request.method',
        'x-model': 'llmRequest.model',
        'x-none': "request.headers['x-absent']",
        'content-type': "'text/evil'",
      }
      const target = { host: `127.0.0.1:${service.port}` }
      await serve({ request: [{ webhook: { target, headers } }] })
      says({ action: { reason: 'fine' } })
      assert.equal((await call('hello')).status, 200)
      const { url, headers: got } = service.arrived[0] ?? assert.fail()
      assert.deepEqual(
        [url, got['x-own'], got['x-model'], got['x-none'], got['content-type']],
        ['/tenants/blue', 'POST', 'gpt-x', undefined, 'application/json'],
      )
    })
  })

  describe('rejections', () => {
    const regex = (rejection: object) => ({
      regex: { action: 'reject', rules: [{ pattern: 'zeus' }] },
      rejection,
    })
    const body = '{"error":{"code":"own"}}'

    it('have a custom body, status and headers, on requests and responses', async () => {
      const headers = { set: { 'content-type': 'application/json', 'x-why': 'zeus' } }
      await serve({ request: [regex({ status: 400, headers, body })] })
      const { status, text, headers: got } = await call('zeus')
      assert.deepEqual([status, text], [400, body])
      assert.deepEqual([got.get('content-type'), got.get('x-why')], ['application/json', 'zeus'])
      assert.equal(openai.arrived.length, 0)
      const any = { regex: { action: 'reject', rules: [{ pattern: '.' }] } }
      await serve({ response: [{ ...any, rejection: { status: 422, body } }] })
      const rejected = await call('hello')
      assert.deepEqual([rejected.status, rejected.text], [422, body])
    })

    it('with headers only keep the format of the API', async () => {
      await serve({ request: [regex({ headers: { set: { 'x-why': 'zeus' } } })] })
      const { status, text, headers } = await call('zeus')
      assert.deepEqual([status, headers.get('x-why')], [403, 'zeus'])
      assert.equal(JSON.parse(text).error.code, 'content_rejected')
    })

    it('have either a message or a body', () => {
      const [message] = errorsOf({ request: [regex({ body, message: 'no' })] })
      assert.match(message ?? '', /`message` and `body` are mutually exclusive/)
    })
  })
})
