import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { type Provider, startProvider } from './providers.ts'

let openai: ModelProvider
let anthropic: ModelProvider
/** Accepts any request. */
let other: Provider
let port = 0
let running: Deciding | undefined

const provider = (name: string, kind: string, at: number, policies: object = {}) => ({
  ...{ name, provider: { [kind]: {} }, hostOverride: `127.0.0.1:${at}` },
  policies: { backendAuth: { key: 'sk-provider' }, ...policies },
})

async function serve(
  policies: { readonly route?: object; readonly backend?: object; readonly own?: object },
  more: object = {},
): Promise<void> {
  const { route = {}, backend = {}, own = {} } = policies
  const backends = [
    ['openai', provider('gpt', 'openAI', openai.port, own)],
    ['anthropic', provider('claude', 'anthropic', anthropic.port, own)],
    ['gemini', provider('gemini', 'gemini', other.port, own)],
    ['responses', provider('responses', 'openAI', other.port, own)],
  ] as const
  const text = JSON.stringify({
    gateways: { default: { port } },
    routes: backends.map(([name]) => ({
      name,
      matches: [{ headers: [{ name: 'x-to', value: { exact: name } }] }],
      policies: route,
      backends: [{ backend: name }],
    })),
    backends: backends.map(([name, ai]) => ({ name, ai, policies: backend })),
    ...more,
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(to: string, path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'x-to': to, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

const COMPLETIONS = '/v1/chat/completions'
const said = { role: 'user', content: 'hello' }
const chat = (more: object = {}) => ({ model: 'm', messages: [said], ...more })

const ai = (value: object) => ({ ai: value })
const prompts = (prepend: readonly object[], append: readonly object[] = []) =>
  ai({
    prompts: {
      ...(prepend.length === 0 ? {} : { prepend }),
      ...(append.length === 0 ? {} : { append }),
    },
  })
const system = (content: string) => ({ role: 'system', content })

const sent = (to: { readonly arrived: Provider['arrived'] }) => {
  const { body = '' } = to.arrived.at(-1) ?? {}
  return JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))
}

describe('changes of the configuration to calls to models', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    other = await startProvider('other')
    other.respondWith = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    }
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai?.close()
    await anthropic?.close()
    await other?.close()
  })

  beforeEach(() => {
    for (const one of [openai, anthropic]) {
      one.arrived.length = 0
      one.behaviour = {}
    }
    other.arrived.length = 0
  })

  it('defaults fill in missing fields, overrides always apply; the most specific takes precedence', async () => {
    await serve({
      route: ai({ defaults: { temperature: 0.1, seed: 1, user: 'r' }, overrides: { n: 1 } }),
      backend: ai({ defaults: { seed: 2 }, overrides: { top_p: 0.5, n: 2 } }),
      own: ai({ defaults: { user: null } }),
    })
    const { status } = await call('openai', COMPLETIONS, chat({ temperature: 1, top_p: 1 }))
    assert.equal(status, 200)
    const { temperature, seed, top_p, n, user } = sent(openai)
    assert.deepEqual(
      { temperature, seed, top_p, n, user },
      {
        ...{ temperature: 1, seed: 2, top_p: 0.5, n: 2, user: null },
      },
    )
  })

  it('bytes that are not changed stay as they were written', async () => {
    await serve({ own: ai({ defaults: { seed: 7 } }) })
    const body = '{ "model":"m", "messages":[{"role":"user","content":"x"}], "x-own": 1.50e1 }'
    await fetch(`http://127.0.0.1:${port}${COMPLETIONS}`, {
      ...{ method: 'POST', headers: { 'x-to': 'openai' }, body },
    })
    assert.equal(openai.arrived[0]?.body, body.replace('{ ', '{"seed":7, '))
  })

  it('the provider gets the model of an alias; rules read what the client named', async () => {
    const rules = { authorization: { rules: [{ allow: `llm.requestModel == 'fast'` }] } }
    await serve({ own: { ...ai({ modelAliases: { fast: 'gpt-x', m: 'y' } }), ...rules } })
    assert.equal((await call('openai', COMPLETIONS, chat({ model: 'fast' }))).status, 200)
    assert.equal(sent(openai).model, 'gpt-x')
    assert.equal((await call('openai', COMPLETIONS, chat({ model: 'gpt-x' }))).status, 403)
    assert.equal((await call('openai', COMPLETIONS, chat({ model: 'toString' }))).status, 403)
    await serve({ own: ai({ modelAliases: { fast: 'gpt-x' } }) })
    await call('openai', COMPLETIONS, chat({ model: 'toString' }))
    assert.equal(sent(openai).model, 'toString')
  })

  it('an alias is priced as the model that is called', async () => {
    const rates = { rates: { input: '10', output: '10' } }
    const config = {
      modelCatalog: [{ inline: { providers: { openai: { models: { 'gpt-x': rates } } } } }],
    }
    const budget = { budgets: [{ usd: '1', per: 'Month' }] }
    await serve({ route: budget, own: ai({ modelAliases: { fast: 'gpt-x' } }) }, { config })
    const response = await call('openai', COMPLETIONS, chat({ model: 'fast' }))
    assert.equal(response.status, 200, response.text)
    assert.equal((await call('openai', COMPLETIONS, chat({ model: 'slow' }))).status, 403)
  })

  describe('messages', () => {
    it('of all levels are added, the most general outermost', async () => {
      await serve({
        route: prompts([system('route')], [{ role: 'user', content: 'route, after' }]),
        own: prompts([system('own')], [{ role: 'user', content: 'own, after' }]),
      })
      await call('openai', COMPLETIONS, chat({ messages: [system('client'), said] }))
      assert.deepEqual(
        sent(openai).messages.map(({ content }: { content: string }) => content),
        ['route', 'own', 'client', 'hello', 'own, after', 'route, after'],
      )
    })

    for (const [given, before] of [
      [undefined, []],
      ['theirs', [{ type: 'text', text: 'theirs' }]],
      [
        [{ type: 'text', text: 'theirs', cache_control: { type: 'ephemeral' } }],
        [{ type: 'text', text: 'theirs', cache_control: { type: 'ephemeral' } }],
      ],
    ] as const) {
      it(`system prompts of Anthropic: ${JSON.stringify(given)}`, async () => {
        await serve({
          own: prompts([system('first'), { role: 'user', content: 'a' }], [system('last')]),
        })
        const body = chat({ max_tokens: 5, ...(given === undefined ? {} : { system: given }) })
        const { status, text } = await call('anthropic', '/v1/messages', body)
        assert.equal(status, 200, text)
        const block = (text: string) => ({ type: 'text', text })
        assert.deepEqual(sent(anthropic).system, [block('first'), ...before, block('last')])
        assert.deepEqual(sent(anthropic).messages, [{ role: 'user', content: 'a' }, said])
      })
    }

    it('of the client reach a provider of another API together with the added ones', async () => {
      await serve({ own: prompts([system('be brief')]) })
      const { status } = await call('anthropic', COMPLETIONS, chat({ max_tokens: 5 }))
      assert.equal(status, 200)
      assert.match(JSON.stringify(sent(anthropic).system), /be brief/)
    })

    it('of responses: text and items', async () => {
      await serve({ own: prompts([system('first')], [{ role: 'assistant', content: 'z' }]) })
      for (const input of ['hello', [said]]) {
        await call('responses', '/v1/responses', { model: 'm', input })
        assert.deepEqual(sent(other).input, [
          system('first'),
          said,
          { role: 'assistant', content: 'z' },
        ])
      }
    })

    it('of Gemini, in both spellings', async () => {
      await serve({ own: prompts([system('first'), { role: 'assistant', content: 'm' }]) })
      const contents = [{ role: 'user', parts: [{ text: 'hello' }] }]
      const theirs = { parts: [{ text: 'theirs' }] }
      for (const [member, body] of [
        ['systemInstruction', { contents }],
        ['systemInstruction', { contents, systemInstruction: theirs }],
        ['system_instruction', { contents, system_instruction: theirs }],
      ] as const) {
        const { status, text } = await call('gemini', '/v1beta/models/m:generateContent', body)
        assert.equal(status, 200, text)
        const own = member in body ? [{ text: 'theirs' }] : []
        assert.deepEqual(sent(other)[member].parts, [{ text: 'first' }, ...own])
        assert.deepEqual(sent(other).contents, [
          { role: 'model', parts: [{ text: 'm' }] },
          ...contents,
        ])
      }
    })

    it('are counted, and do not apply to embeddings', async () => {
      await serve({ own: prompts([system('first')]) })
      await call('responses', '/v1/embeddings', { model: 'm', input: 'hello' })
      assert.deepEqual(sent(other), { model: 'm', input: 'hello' })
      anthropic.respondWith = other.respondWith
      await call('anthropic', '/v1/messages/count_tokens', chat())
      assert.deepEqual(sent(anthropic).system, [{ type: 'text', text: 'first' }])
    })

    it('that are added are not checked by guards', async () => {
      const guardrails = { request: [{ regex: { rules: [{ builtin: 'email' }] } }] }
      await serve({ own: { ...prompts([system('ask help@example.com')]), guardrails } })
      await call('openai', COMPLETIONS, chat({ messages: [{ role: 'user', content: 'b@c.de' }] }))
      assert.deepEqual(
        sent(openai).messages.map(({ content }: { content: string }) => content),
        ['ask help@example.com', '<EMAIL_ADDRESS>'],
      )
    })
  })

  it('endpoints that are not read are denied, since nothing can be changed there', async () => {
    await serve({ own: ai({ overrides: { max_tokens: 5 } }) })
    assert.equal((await call('openai', '/v1/batches', {})).status, 403)
    assert.equal(openai.arrived.length, 0)
  })

  it('settings that have no effect or are invalid are rejected', () => {
    const read = (value: unknown, backend: object = { ai: provider('a', 'openAI', 9) }) =>
      loadText(
        JSON.stringify({
          gateways: { default: { port: 4000 } },
          routes: [{ name: 'r', policies: { ai: value }, backends: [backend] }],
        }),
        'a.json',
        { environment: {} },
      ).result.diagnostics.filter(({ severity }) => severity === 'error')
    assert.deepEqual(read({ defaults: { seed: 1 } }), [])
    assert.equal(read({ defaults: { seed: 1 } }, { host: '127.0.0.1:9' })[0]?.code, 'PC0219')
    for (const value of [
      [],
      { unknown: 1 },
      { defaults: { model: 'x' } },
      { overrides: { stream: false } },
      { prompts: { prepend: [] } },
      { prompts: { prepend: [{ role: 'root', content: 'x' }] } },
      { prompts: { prepend: [{ role: 'user' }] } },
      { modelAliases: { a: 1 } },
      { promptGuard: { request: 1 } },
      { routes: { '/v1/messages': 'completions' } },
      { routes: { '/v1/messages': 'passthrough' } },
      { routes: { '*': 'completions' } },
    ]) {
      assert.notEqual(read(value).length, 0, JSON.stringify(value))
    }
  })
})
