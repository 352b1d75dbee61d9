import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

let openai: ModelProvider
let anthropic: ModelProvider
let port = 0
let running: Deciding | undefined

const at = ({ port }: ModelProvider) => ({
  params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${port}` },
})
const configOf = (llm: object, more: object = {}) =>
  JSON.stringify({ gateways: { default: { port } }, routes: [], llm, ...more })

async function serve(llm: object, more: object = {}): Promise<void> {
  const text = configOf(llm, more)
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, text }
}

const chat = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})
const complete = (model: string, more: object = {}, headers = {}) =>
  call('/v1/chat/completions', chat(model, more), headers)

const sent = ({ arrived }: ModelProvider) =>
  JSON.parse(Buffer.from(arrived.at(-1)?.body ?? '', 'latin1').toString('utf8'))

/** Its problems, as codes. */
function problemsOf(llm: object): readonly string[] {
  const text = JSON.stringify({ gateways: { default: { port: 4000 } }, llm })
  const { diagnostics } = loadText(text, 'a.json', { environment: {} }).result
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)
}

describe('fields of calls that expressions compute', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai?.close()
    await anthropic?.close()
  })

  beforeEach(() => {
    for (const one of [openai, anthropic]) one.arrived.length = 0
  })

  it('the model is the result of the expression', async () => {
    const transformation = { model: 'llmRequest.model.stripPrefix("o/")' }
    await serve({ models: [{ name: 'o/*', provider: 'openai', ...at(openai), transformation }] })
    assert.equal((await complete('o/gpt-x')).status, 200)
    assert.equal(sent(openai).model, 'gpt-x')
  })

  it('rules read what the client named, regardless of later changes', async () => {
    const transformation = { model: `'gpt-x'` }
    const authorization = { rules: [{ deny: `llm.requestModel == 'gpt-x'` }] }
    const model = { name: '*', provider: 'openAI', ...at(openai), transformation, authorization }
    await serve({ models: [model] })
    assert.equal((await complete('other')).status, 200)
    assert.equal(sent(openai).model, 'gpt-x')
    assert.equal((await complete('gpt-x')).status, 403)
  })

  it('a model that cannot be computed rejects the call', async () => {
    for (const model of [`request.headers['x-model']`, '5', `''`]) {
      const transformation = { model }
      await serve({ models: [{ name: '*', provider: 'openAI', ...at(openai), transformation }] })
      const { status, text } = await complete('m')
      assert.equal(status, 400, text)
    }
    assert.equal(openai.arrived.length, 0)
  })

  it('fields take precedence over overrides, and one that fails is removed', async () => {
    const model = {
      ...{ name: '*', provider: 'openAI', ...at(openai) },
      defaults: { seed: 1, user: 'default' },
      overrides: { max_tokens: 50, top_p: 0.5 },
      transformation: {
        max_tokens: 'min(llmRequest.max_tokens, 10)',
        temperature: `request.headers['x-user'] == 'admin' ? 1.5 : 0.0`,
        user: `request.headers['x-nobody']`,
        metadata: '{"tier": default(llmRequest.metadata.tier, "none"), "n": [1, 2]}',
      },
    }
    await serve({ models: [model] })
    await complete('m', { max_tokens: 5000, user: 'me' }, { 'x-user': 'admin' })
    const { messages, ...fields } = sent(openai)
    assert.deepEqual(fields, {
      ...{ model: 'm', max_tokens: 10, temperature: 1.5, seed: 1, top_p: 0.5 },
      metadata: { tier: 'none', n: [1, 2] },
    })
    assert.equal(messages.length, 1)
    await complete('m', { max_tokens: 7, metadata: { tier: 'gold' } }, { 'x-user': 'admin' })
    assert.equal(sent(openai).max_tokens, 7)
    assert.deepEqual(sent(openai).metadata, { tier: 'gold', n: [1, 2] })
    // There is no value to take the minimum of.
    await complete('m', {}, { 'x-user': 'admin' })
    assert.equal('max_tokens' in sent(openai), false)
  })

  it('numbers that a double cannot hold survive the removal of another field', async () => {
    const transformation = { user: `request.headers['x-nobody']` }
    await serve({ models: [{ name: '*', provider: 'openAI', ...at(openai), transformation }] })
    const body = '{"model":"m","user":"u","messages":[],"seed":12345678901234567890}'
    await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', body })
    assert.match(openai.arrived.at(-1)?.body ?? '', /"seed":12345678901234567890/)
    assert.doesNotMatch(openai.arrived.at(-1)?.body ?? '', /user/)
  })

  it('are translated with the call', async () => {
    const transformation = { max_tokens: '9', model: '"claude-" + llmRequest.model' }
    const model = { name: '*', provider: 'anthropic', ...at(anthropic), transformation }
    await serve({ models: [model] })
    assert.equal((await complete('x', { max_tokens: 100 })).status, 200)
    const { model: called, max_tokens } = sent(anthropic)
    assert.deepEqual({ called, max_tokens }, { called: 'claude-x', max_tokens: 9 })
  })

  it('of a target of a virtual model read the name of the target', async () => {
    const transformation = { model: 'llmRequest.model.stripPrefix("foo/")' }
    await serve({
      models: [{ name: 'foo/*', provider: 'openAI', ...at(openai), transformation }],
      virtualModels: [
        {
          name: 'smart',
          routing: {
            conditional: {
              targets: [
                { when: 'default(llmRequest.max_tokens, 1024) <= 100', model: 'foo/small' },
                { when: `llmRequest.metadata.tier == 'gold'`, model: 'foo/gold' },
                { when: `json(request.body).route == 'code'`, model: 'foo/code' },
                { model: 'foo/large' },
              ],
            },
          },
        },
      ],
    })
    for (const [more, expected] of [
      [{ max_tokens: 5 }, 'small'],
      [{ metadata: { tier: 'gold' } }, 'gold'],
      [{ route: 'code' }, 'code'],
      [{ max_tokens: 5000 }, 'large'],
    ] as const) {
      assert.equal((await complete('smart', more)).status, 200)
      assert.equal(sent(openai).model, expected)
    }
  })

  it('of a provider apply to the models that refer to it, unless they override them', async () => {
    const shared = {
      ...{ name: 'shared', provider: 'openAI', ...at(openai) },
      defaults: {
        transformation: { model: 'llmRequest.model.stripPrefix("o/")', seed: '1' },
        overrides: { top_p: 0.25 },
        requestHeaders: { set: { 'x-shared': 'yes' } },
      },
    }
    const provider = { reference: 'shared' }
    await serve({
      providers: [shared],
      models: [
        { name: 'o/*', provider },
        { name: 'two', provider, transformation: { seed: '2' } },
      ],
    })
    await complete('o/a')
    assert.deepEqual([sent(openai).model, sent(openai).seed, sent(openai).top_p], ['a', 1, 0.25])
    assert.equal(openai.arrived.at(-1)?.headers['x-shared'], 'yes')
    await complete('two')
    assert.deepEqual([sent(openai).model, sent(openai).seed], ['two', 2])
  })

  it('a budget counts the computed model and length', async () => {
    const rates = { rates: { input: '10', output: '10' } }
    const config = {
      modelCatalog: [{ inline: { providers: { openai: { models: { 'gpt-x': rates } } } } }],
    }
    const transformation = { model: 'llmRequest.model.stripPrefix("o/")', max_tokens: '10' }
    const model = { name: 'o/*', provider: 'openAI', ...at(openai), transformation }
    // Without the expression a call could write 100,000 tokens, for a dollar.
    const policies = { budgets: [{ usd: '0.5', per: 'Month' }] }
    await serve({ policies, models: [model] }, { config })
    const served = await complete('o/gpt-x', { max_tokens: 100_000 })
    assert.equal(served.status, 200, served.text)
    assert.equal((await complete('o/unpriced')).status, 403)
  })

  it('invalid ones are rejected', () => {
    const model = (transformation: unknown) => ({
      models: [{ name: '*', provider: 'openAI', transformation }],
    })
    assert.deepEqual(problemsOf(model({ max_tokens: '1 + 1' })), [])
    for (const wrong of [
      [],
      { max_tokens: 5 },
      { max_tokens: '1 +' },
      { max_tokens: 'nobody.knows' },
      { stream: 'false' },
      { a: `response.code` },
    ]) {
      assert.notEqual(problemsOf(model(wrong)).length, 0, JSON.stringify(wrong))
    }
    const provider = { name: 'p', provider: 'openAI', defaults: { health: {}, unknown: 1 } }
    assert.notEqual(problemsOf({ providers: [provider], models: [] }).length, 0)
  })
})
