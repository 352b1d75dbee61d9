import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

let one: ModelProvider
let two: ModelProvider
let anthropic: ModelProvider
let port = 0
let running: Deciding | undefined

const params = (provider: ModelProvider, more: object = {}) => ({
  apiKey: 'sk-provider',
  hostOverride: `127.0.0.1:${provider.port}`,
  ...more,
})

const configOf = (llm: object) =>
  JSON.stringify({ gateways: { default: { port } }, routes: [], llm })

async function serve(llm: object): Promise<void> {
  if (running === undefined) running = await startDeciding(configOf(llm), 'json')
  else await running.apply(configOf(llm))
}

async function chat(model: string, headers: Readonly<Record<string, string>> = {}, more = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...more }),
  })
  const body = (await response.json()) as {
    readonly model?: string
    readonly error?: { readonly code: string | null }
  }
  return { status: response.status, model: body.model, code: body.error?.code }
}

async function models(headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers })
  const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] }
  return data.map(({ id }) => id)
}

/** Its problems, as code and line. */
function problemsOf(llm: object): readonly string[] {
  const text = JSON.stringify({ gateways: { default: { port: 4000 } }, llm }, undefined, 1)
  const { diagnostics } = loadText(text, 'a.json', { environment: {} }).result
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)
}

describe('llm', () => {
  before(async () => {
    ;[one, two, anthropic] = await Promise.all([
      startModelProvider('openai'),
      startModelProvider('openai'),
      startModelProvider('anthropic'),
    ])
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    for (const provider of [one, two, anthropic]) await provider.close()
  })

  beforeEach(() => {
    for (const provider of [one, two, anthropic]) {
      provider.arrived.length = 0
      provider.behaviour = {}
    }
  })

  describe('models', () => {
    it('are served by their name, and requested by that of their provider', async () => {
      await serve({
        models: [
          { name: 'fast', provider: 'openAI', params: params(one, { model: 'gpt-5-mini' }) },
          { name: 'other-*', provider: 'openAI', params: params(two) },
        ],
      })
      assert.deepEqual(await chat('fast'), { status: 200, model: 'gpt-5-mini', code: undefined })
      assert.equal((await chat('other-x')).model, 'other-x')
      assert.deepEqual([one.arrived.length, two.arrived.length], [1, 1])
    })

    it('that are unknown are a 404 in the form that SDKs expect', async () => {
      await serve({ models: [{ name: 'fast', provider: 'openAI', params: params(one) }] })
      assert.deepEqual(await chat('slow'), {
        status: 404,
        model: undefined,
        code: 'model_not_found',
      })
    })

    it('are matched by the longest part of their name, and by headers', async () => {
      await serve({
        models: [
          { name: '*', provider: 'openAI', params: params(one, { model: 'all' }) },
          { name: 'gpt-*', provider: 'openAI', params: params(one, { model: 'prefix' }) },
          {
            ...{ id: 'beta', name: 'gpt-x', provider: 'openAI' },
            params: params(one, { model: 'beta' }),
            matches: [{ headers: [{ name: 'x-beta', value: '1' }] }],
          },
        ],
      })
      assert.equal((await chat('gpt-x', { 'x-beta': '1' })).model, 'beta')
      assert.equal((await chat('gpt-x')).model, 'prefix')
      assert.equal((await chat('claude')).model, 'all')
    })

    it('have their own rules; a denied one is skipped', async () => {
      const rules = { rules: [{ allow: "request.headers['x-team'] == 'a'" }] }
      await serve({
        models: [
          {
            ...{ name: 'gpt-x', provider: 'openAI', authorization: rules },
            params: params(one, { model: 'best' }),
          },
          {
            ...{
              name: 'gpt-*',
              provider: 'openAI',
              authorization: { rules: [{ deny: "llm.requestModel == 'gpt-y'" }] },
            },
            params: params(two, { model: 'rest' }),
          },
        ],
      })
      assert.equal((await chat('gpt-x', { 'x-team': 'a' })).model, 'best')
      assert.equal((await chat('gpt-x')).model, 'rest')
      assert.equal((await chat('gpt-y')).status, 403)
    })

    it('that fail are not replaced by others that the client did not name', async () => {
      await serve({
        models: [
          { name: 'gpt-x', provider: 'openAI', params: params(one) },
          { name: 'gpt-*', provider: 'openAI', params: params(two) },
        ],
      })
      one.behaviour = { status: 500 }
      assert.equal((await chat('gpt-x')).status, 500)
      assert.equal(two.arrived.length, 0)
    })

    it('share providers, whose settings they override', async () => {
      await serve({
        providers: [
          {
            ...{ name: 'shared', provider: 'openAI', params: params(one) },
            defaults: { temperature: 0.2, top_p: 0.5 },
            overrides: { store: false },
          },
        ],
        models: [
          {
            ...{ name: 'a', provider: { reference: 'shared' }, params: { model: 'real' } },
            defaults: { temperature: 0.9 },
          },
        ],
      })
      assert.equal((await chat('a', {}, { store: true, top_p: 0.7 })).model, 'real')
      const [{ temperature, top_p, store } = {}] = one.bodies()
      assert.deepEqual([temperature, top_p, store], [0.9, 0.7, false])
    })

    it('keep the spelling of numbers next to the fields that are set', async () => {
      await serve({
        models: [
          { name: 'a', provider: 'openAI', params: params(one), overrides: { store: false } },
        ],
      })
      const body =
        '{"model":"a","seed":12345678901234567890,"messages":[{"role":"user","content":"hi"}]}'
      const path = `http://127.0.0.1:${port}/v1/chat/completions`
      assert.equal((await fetch(path, { method: 'POST', body })).status, 200)
      assert.match(one.arrived[0]?.body ?? '', /"seed":12345678901234567890\b/)
    })

    it('are also named by other endpoints, which pass unchanged', async () => {
      const keys = [{ key: 'team-b', allowedModels: ['b'] }]
      await serve({
        policies: { apiKey: { mode: 'Optional', keys } },
        models: [
          { name: 'a', provider: 'openAI', params: params(one) },
          { name: 'b', provider: 'openAI', params: params(two, { model: 'real-b' }) },
          { name: 'c', provider: 'anthropic', params: params(anthropic) },
          { name: 'd', provider: 'openAI', params: params(one), overrides: { store: false } },
        ],
      })
      const post = async (path: string, body: string, headers = {}) => {
        const url = `http://127.0.0.1:${port}${path}`
        return (await fetch(url, { method: 'POST', body, headers })).status
      }
      const images = '/v1/images/generations'
      await post(images, '{"model":"a","n":1.0,"prompt":"a cat"}')
      assert.equal(one.arrived[0]?.url, images)
      assert.equal(one.arrived[0]?.body, '{"model":"a","n":1.0,"prompt":"a cat"}')
      await post(images, '{"model":"b","n":1.0}', { authorization: 'Bearer team-b' })
      assert.equal(two.arrived[0]?.body, '{"model":"real-b","n":1.0}')
      const key = { authorization: 'Bearer team-b' }
      assert.equal(await post(images, '{"model":"a"}', key), 403)
      assert.equal(await post(images, '{"model":"nobody"}'), 404)
      assert.equal(await post(images, '{"model":"c"}'), 400)
      assert.equal(await post(images, '{"model":"d"}'), 400)
      assert.equal(await post('/v1/batches', '{"model":"a"}'), 404)
      assert.equal(one.arrived.length + two.arrived.length + anthropic.arrived.length, 2)
    })

    it('are listed for clients that may use them', async () => {
      await serve({
        policies: {
          apiKey: {
            mode: 'Optional',
            keys: [{ key: 'team-b', allowedModels: ['b*'] }, { key: 'team-a' }],
          },
        },
        models: [
          { name: 'a', provider: 'openAI', params: params(one) },
          { name: 'b', provider: 'openAI', params: params(one) },
          { name: 'hidden', visibility: 'internal', provider: 'openAI', params: params(one) },
          { name: 'x-*', provider: 'openAI', params: params(one) },
          {
            ...{ name: 'b-secret', provider: 'openAI', params: params(one) },
            authorization: { rules: [{ deny: 'true' }] },
          },
        ],
        virtualModels: [
          { name: 'top', routing: { failover: { targets: [{ model: 'hidden', priority: 0 }] } } },
        ],
      })
      assert.deepEqual(await models(), ['a', 'b', 'top'])
      const key = { authorization: 'Bearer team-b' }
      assert.deepEqual(await models(key), ['b'])
      assert.deepEqual((await chat('a', key)).code, 'model_not_allowed')
      assert.equal((await chat('b', key)).status, 200)
      assert.equal((await chat('hidden')).status, 404)
      assert.equal((await chat('top')).model, 'hidden')
      assert.equal((await chat('a', { authorization: 'Bearer other' })).status, 401)
    })
  })

  describe('virtual models', () => {
    const models = () => [
      { name: 'a', provider: 'openAI', params: params(one) },
      { name: 'b', provider: 'openAI', params: params(two, { model: 'real-b' }) },
    ]
    const virtual = (routing: object) => [{ name: 'v', routing }]

    it('fail over by priority', async () => {
      const targets = [
        { model: 'b', priority: 1 },
        { model: 'a', priority: 0 },
      ]
      await serve({ models: models(), virtualModels: virtual({ failover: { targets } }) })
      assert.equal((await chat('v')).model, 'a')
      one.behaviour = { status: 503 }
      assert.equal((await chat('v')).model, 'real-b')
    })

    it('choose by weight', async () => {
      const targets = [
        { model: 'a', weight: 0 },
        { model: 'b', weight: 1 },
      ]
      await serve({ models: models(), virtualModels: virtual({ weighted: { targets } }) })
      for (let i = 0; i < 5; i++) assert.equal((await chat('v')).model, 'real-b')
    })

    it('choose by condition', async () => {
      const targets = [{ model: 'b', when: 'llm.params.max_tokens > 100' }, { model: 'a' }]
      await serve({ models: models(), virtualModels: virtual({ conditional: { targets } }) })
      assert.equal((await chat('v', {}, { max_tokens: 200 })).model, 'real-b')
      assert.equal((await chat('v', {}, { max_tokens: 20 })).model, 'a')
      assert.equal((await chat('v')).model, 'a')
    })
  })

  describe('mistakes', () => {
    const model = { name: 'a', provider: 'openAI' }
    const cases: readonly (readonly [string, object, string])[] = [
      ['an unknown key', { models: [{ ...model, colour: 1 }] }, 'PC0210'],
      ['an unknown provider', { models: [{ ...model, provider: 'opneAI' }] }, ''],
      [
        'a broken rule',
        { models: [{ ...model, authorization: { rules: ['llm.model =='] } }] },
        'PC0101',
      ],
      [
        'a rule of an unknown name',
        { models: [{ ...model, authorization: { rules: ['llm.modle == "x"'] } }] },
        '',
      ],
      [
        'a broken condition',
        {
          models: [model],
          virtualModels: [
            { name: 'v', routing: { conditional: { targets: [{ model: 'a', when: '1 +' }] } } },
          ],
        },
        'PC0101',
      ],
      [
        'an unknown target',
        {
          models: [model],
          virtualModels: [{ name: 'v', routing: { weighted: { targets: [{ model: 'b' }] } } }],
        },
        'PC0302',
      ],
      ['an unknown reference', { models: [{ ...model, provider: { reference: 'b' } }] }, 'PC0302'],
      ['a guard of nothing', { models: [{ ...model, guardrails: { request: [{}] } }] }, 'PC0211'],
      [
        'a final transformation',
        { models: [{ ...model, finalTransformation: { a: '1' } }] },
        'PC0219',
      ],
      ['an unknown guard', { models: [model], policies: { guardrails: { a: [] } } }, 'PC0210'],
      ['two of one name', { models: [model, model] }, 'PC0303'],
      [
        'no address',
        { models: [{ name: 'a', provider: { custom: { formats: [{ type: 'completions' }] } } }] },
        'PC0316',
      ],
      ['no models', { models: [] }, ''],
    ]
    for (const [what, llm, code] of cases) {
      it(`${what} is an error`, () => {
        const found = problemsOf(llm)
        assert.ok(found.length > 0, 'nothing was said')
        if (code !== '') assert.ok(found.includes(code), found.join())
      })
    }

    it('reports the location of a broken rule', () => {
      const text =
        'llm:\n  models:\n  - name: a\n    provider: openAI\n    authorization:\n      rules: ["llm.requestModel =="]\n'
      const { diagnostics } = loadText(`gateways: {default: {port: 1234}}\n${text}`, 'a.yaml', {
        environment: {},
      }).result
      const origin = diagnostics.find(({ severity }) => severity === 'error')?.origin
      assert.equal(origin?.kind === 'file' && origin.line, 7)
    })
  })
})
