import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { cut, type ModelProvider, startModelProvider } from './model-provider.ts'
import { NOBODY, type Provider, startProvider } from './providers.ts'

let openai: ModelProvider
let anthropic: ModelProvider
let hook: Provider
let port = 0
let running: Deciding | undefined

const model = (name: string, provider: string, { port: at }: ModelProvider) => ({
  name,
  provider,
  params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}` },
})

async function serve(guardrails: object): Promise<void> {
  const text = JSON.stringify({
    gateways: { default: { port } },
    llm: {
      models: [model('gpt-x', 'openAI', openai), model('claude-x', 'anthropic', anthropic)],
      policies: { guardrails },
    },
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

const webhook = (more: object = {}, at = hook.port) => ({
  webhook: { target: { host: `127.0.0.1:${at}` }, ...more },
})

async function call(body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'gpt-x', ...body }),
  })
  return { status: response.status, text: await response.text() }
}

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })

/** Sets the response of the webhook to any request; an object is sent as JSON. */
function says(said: object | string | Buffer, status = 200): void {
  hook.respondWith = (_, response) => {
    const isRaw = typeof said === 'string' || Buffer.isBuffer(said)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(isRaw ? said : JSON.stringify(said))
  }
}

/** Replaces each text with the result of `change`. */
function masks(change: (text: string) => string): void {
  hook.respondWith = (request, response) => {
    const { body } = json(hook.arrived.at(-1)?.body ?? '{}')
    const message = ({ role, content }: { role: string; content: string }) => ({
      role,
      content: change(content),
    })
    const changed =
      request.url === '/request'
        ? { messages: body.messages.map(message) }
        : {
            choices: body.choices.map((one: { message: { role: string; content: string } }) => ({
              message: message(one.message),
            })),
          }
    response.end(JSON.stringify({ action: { body: changed, reason: 'masked' } }))
  }
}

const PASS = { action: { reason: 'fine' } }
/** The server keeps received bodies with one character per byte. */
const json = (body: string) => JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))
const sentTo = () => hook.arrived.map(({ url, body }) => [url, json(body)] as const)

function heard(stream: string): string {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)).choices?.[0]?.delta?.content ?? '')
    .join('')
}

describe('guards that are services', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    hook = await startProvider('hook')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai?.close()
    await anthropic?.close()
    await hook?.close()
  })

  beforeEach(() => {
    for (const provider of [openai, anthropic]) {
      provider.arrived.length = 0
      provider.behaviour = {}
    }
    hook.arrived.length = 0
    says(PASS)
  })

  describe('on requests', () => {
    it('get every text with its role, and can admit it', async () => {
      await serve({ request: [webhook({ includeRequestHeaders: ['x-team', 'host'] })] })
      const { status } = await call(
        {
          messages: [
            { role: 'system', content: 'be kind' },
            {
              role: 'user',
              content: [
                { type: 'text', text: 'look' },
                { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
              ],
            },
            { role: 'tool', tool_call_id: 'x', content: '42' },
          ],
        },
        { 'x-team': 'blue', 'x-other': 'no', authorization: 'Bearer secret' },
      )
      assert.equal(status, 200)
      const messages = [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'look' },
        { role: 'tool', content: '42' },
      ]
      assert.deepEqual(sentTo(), [['/request', { body: { messages } }]])
      const { headers } = hook.arrived[0] ?? assert.fail()
      assert.deepEqual(
        [headers['x-team'], headers['x-other'], headers.authorization, headers['content-type']],
        ['blue', undefined, undefined, 'application/json'],
      )
      assert.notEqual(headers.host, `127.0.0.1:${port}`)
      assert.equal(openai.arrived.length, 1)
    })

    it('mask texts, and the rest stays as it is written', async () => {
      await serve({ request: [webhook()] })
      masks((text) => text.replace('zeus', '***'))
      const { status } = await call({
        messages: [{ role: 'user', content: [{ type: 'text', text: 'about zeus' }], 'x-own': 1e2 }],
        temperature: 0.5,
      })
      assert.equal(status, 200)
      const sent = JSON.parse(openai.arrived[0]?.body ?? '')
      assert.deepEqual(sent.messages[0].content, [{ type: 'text', text: 'about ***' }])
      assert.equal(sent.temperature, 0.5)
    })

    it('are called in the order of the list, and see what the previous ones left', async () => {
      const regex = { regex: { rules: [{ builtin: 'email' }] } }
      const late = { regex: { action: 'Reject', rules: [{ pattern: 'from the hook' }] } }
      await serve({ request: [regex, webhook({ path: '/v1/guards' }), late] })
      hook.respondWith = (_, response) => {
        const messages = [{ role: 'user', content: 'from the hook' }]
        response.end(JSON.stringify({ action: { body: { messages } } }))
      }
      const { status } = await call(user('ann@example.com'))
      assert.equal(status, 403)
      const messages = [{ role: 'user', content: '<EMAIL_ADDRESS>' }]
      assert.deepEqual(sentTo(), [['/v1/guards/request', { body: { messages } }]])
      assert.equal(openai.arrived.length, 0)
    })

    it('reject with the message of the webhook and in the format of the API', async () => {
      await serve({ request: [webhook()] })
      says({ action: { body: 'Not about zeus.', status_code: 422, reason: 'policy' } })
      const { status, text } = await call(user('zeus'))
      assert.equal(status, 422)
      const { error } = JSON.parse(text)
      assert.match(error.message, /^Not about zeus\./)
      assert.equal(error.code, 'content_rejected')
      assert.equal(openai.arrived.length, 0)
    })

    it('reject with the status of the policy if the webhook returns no error status', async () => {
      await serve({ request: [{ ...webhook(), rejection: { status: 451 } }] })
      for (const status_code of [undefined, 200, 302, 'x', 700]) {
        says({ action: { body: 'No.', status_code } })
        assert.equal((await call(user('zeus'))).status, 451, String(status_code))
      }
      assert.equal(openai.arrived.length, 0)
    })

    const BROKEN: readonly (readonly [string, object | string | Buffer, number?])[] = [
      ['nothing', ''],
      ['no JSON', 'ok'],
      ['a list', '[]'],
      ['no action', {}],
      ['an action that is a word', { action: 'pass' }],
      ['an action twice', '{"action":{},"action":{"body":"no"}}'],
      ['a status without a body', { action: { status_code: 403 } }],
      ['a body of another shape', { action: { body: { choices: [] } } }],
      ['a body that is a number', { action: { body: 1 } }],
      ['too few messages', { action: { body: { messages: [] } } }],
      [
        'too many messages',
        { action: { body: { messages: [{ content: 'a' }, { content: 'b' }] } } },
      ],
      [
        'a text that is none',
        { action: { body: { messages: [{ role: 'user', content: null }] } } },
      ],
      ['an error', PASS, 500],
      ['a redirect', PASS, 302],
      ['no content', PASS, 204],
    ]
    for (const [what, said, code] of BROKEN) {
      it(`fail closed after ${what}`, async () => {
        await serve({ request: [webhook()] })
        says(said, code)
        const { status, text } = await call(user('hello'))
        assert.equal(status, 503)
        assert.equal(JSON.parse(text).error.code, 'guard_unavailable')
        assert.equal(openai.arrived.length, 0)
      })
    }

    it('fail closed if the service is unreachable or does not respond in time', async () => {
      await serve({ request: [webhook({}, NOBODY.port)] })
      assert.equal((await call(user('hello'))).status, 503)
      await serve({ request: [webhook({ timeout: '50ms' })] })
      hook.respondWith = () => {}
      assert.equal((await call(user('hello'))).status, 503)
      assert.equal(openai.arrived.length, 0)
    })

    it('admit content that cannot be evaluated only if configured to', async () => {
      await serve({ request: [webhook({ failureMode: 'failOpen' })] })
      says('no')
      assert.equal((await call(user('hello'))).status, 200)
      says({ action: { body: 'Not this.' } })
      assert.equal((await call(user('hello'))).status, 403)
      assert.equal(openai.arrived.length, 1)
    })
  })

  describe('on responses', () => {
    it('get the output of the model, and mask it', async () => {
      await serve({ response: [webhook()] })
      masks((text) => text.toUpperCase())
      const { status, text } = await call(user('hello'))
      assert.equal(status, 200)
      assert.equal(JSON.parse(text).choices[0].message.content, 'GRÜSSE')
      const choices = [{ message: { role: 'assistant', content: 'Grüße' } }]
      assert.deepEqual(sentTo(), [['/response', { body: { choices } }]])
      assert.equal(JSON.parse(text).usage.total_tokens, 12)
    })

    it('reject, and fail closed', async () => {
      await serve({ response: [webhook()] })
      says({ action: { body: 'Nothing for you.', status_code: 418 } })
      const rejected = await call(user('hello'))
      assert.equal(rejected.status, 418)
      assert.doesNotMatch(rejected.text, /Grüße/)
      says('nonsense')
      const failed = await call(user('hello'))
      assert.equal(failed.status, 503)
      assert.doesNotMatch(failed.text, /Grüße/)
    })

    it('evaluate a stream as a whole before any of it is sent', async () => {
      await serve({ response: [webhook()] })
      let release = () => {}
      const asked = new Promise<void>((done) => {
        hook.respondWith = (_, response) => {
          release = () => response.end(JSON.stringify(PASS))
          done()
        }
      })
      const pending = call({ ...user('hello'), stream: true })
      await asked
      const choices = [{ message: { role: 'assistant', content: 'Grüße' } }]
      assert.deepEqual(sentTo(), [['/response', { body: { choices } }]])
      release()
      const { status, text } = await pending
      assert.equal(status, 200)
      assert.equal(heard(text), 'Grüße')
      assert.match(text, /data: \[DONE\]\n\n$/)
    })

    for (const name of ['gpt-x', 'claude-x']) {
      it(`mask and reject streams of ${name}`, async () => {
        await serve({ response: [webhook()] })
        masks((text) => text.replace('ü', 'u'))
        const masked = await call({ ...user('hello'), model: name, max_tokens: 9, stream: true })
        assert.equal(heard(masked.text), 'Gruße')
        assert.match(masked.text, /data: \[DONE\]\n\n$/)
        for (const said of [{ action: { body: 'Not this.' } }, 'nonsense']) {
          says(said)
          const { text } = await call({
            ...user('hello'),
            model: name,
            max_tokens: 9,
            stream: true,
          })
          assert.equal(heard(text), '')
          assert.match(text, /"error"/)
          assert.doesNotMatch(text, /\[DONE\]|Gr/)
        }
      })
    }

    it('get the arguments of tool calls', async () => {
      await serve({ response: [webhook()] })
      const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
      const chunk = (delta: object, finish_reason: string | null = null) =>
        `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`
      const tool = { index: 0, id: 'call_1', type: 'function' }
      openai.behaviour = {
        pieces: cut(
          Buffer.from(
            [
              chunk({ content: 'one' }),
              chunk({ content: ' two' }),
              chunk({ tool_calls: [{ ...tool, function: { name: 'f', arguments: '{"a":' } }] }),
              chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
              chunk({}, 'tool_calls'),
              'data: [DONE]\n\n',
            ].join(''),
          ),
          13,
        ),
      }
      masks((text) => `<${text}>`)
      const { text } = await call({ ...user('hello'), stream: true })
      assert.equal(heard(text), '<one two>')
      const pieces = [...text.matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)]
      assert.equal(pieces.map(([, json]) => JSON.parse(json as string)).join(''), '<{"a":1}>')
    })

    it('are not called for responses that the provider rejected', async () => {
      await serve({ response: [webhook()] })
      openai.behaviour = { status: 400 }
      assert.equal((await call(user('hello'))).status, 400)
      assert.equal(hook.arrived.length, 0)
    })
  })

  it('are rejected if they would never be called', () => {
    const read = (guardrails: object) =>
      loadText(
        JSON.stringify({
          gateways: { default: { port: 4000 } },
          mcp: {
            targets: [{ name: 'one', mcp: { host: '127.0.0.1:9' } }],
            policies: { guardrails },
          },
        }),
        'a.json',
        { environment: {} },
      ).result.diagnostics.map(({ code }) => code)
    assert.deepEqual(read({ request: [webhook()] }), ['PC0219'])
    assert.deepEqual(read({ request: [{ regex: { rules: [{ builtin: 'email' }] } }] }), [])
  })

  it('accept only valid settings', () => {
    const read = (guard: object) =>
      loadText(
        JSON.stringify({
          gateways: { default: { port: 4000 } },
          llm: {
            models: [{ name: 'm', provider: 'openAI' }],
            policies: { guardrails: { request: [guard] } },
          },
        }),
        'a.json',
        { environment: {} },
      ).result.diagnostics.filter(({ severity }) => severity === 'error').length
    assert.equal(read(webhook()), 0)
    for (const guard of [
      {},
      { webhook: {} },
      { webhook: { target: {} } },
      { ...webhook(), regex: { rules: [{ builtin: 'email' }] } },
      webhook({ path: 'guards' }),
      webhook({ path: '/a?b' }),
      webhook({ failureMode: 'maybe' }),
      webhook({ unknown: 1 }),
      { webhook: { target: { backend: 'missing' } } },
    ]) {
      assert.notEqual(read(guard), 0, JSON.stringify(guard))
    }
  })
})
