import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

/* Real clients of two vendors, and strict providers of both, in all four combinations. */

let openai: ModelProvider
let anthropic: ModelProvider
let running: Deciding
let port = 0

const params = ({ port }: ModelProvider) => ({
  apiKey: 'sk-provider',
  hostOverride: `127.0.0.1:${port}`,
})

const MODELS = ['gpt-x', 'claude-x'] as const
const CLIENT_KEY = 'sk-client'

const openaiClient = () =>
  new OpenAI({ apiKey: CLIENT_KEY, baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 2 })
const anthropicClient = () =>
  new Anthropic({ apiKey: CLIENT_KEY, baseURL: `http://127.0.0.1:${port}`, maxRetries: 2 })

const HELLO = [{ role: 'user', content: 'hello' }] as const

describe('SDKs of vendors', () => {
  before(async () => {
    ;[openai, anthropic] = await Promise.all([
      startModelProvider('openai'),
      startModelProvider('anthropic'),
    ])
    port = await freePort()
    const llm = {
      policies: { apiKey: { keys: [{ key: CLIENT_KEY }] } },
      models: [
        { name: 'gpt-x', provider: 'openAI', params: params(openai) },
        { name: 'claude-x', provider: 'anthropic', params: params(anthropic) },
        {
          ...{ name: 'secret', provider: 'openAI', params: params(openai) },
          authorization: { rules: [{ deny: 'true' }] },
        },
      ],
      virtualModels: [
        {
          name: 'any',
          routing: {
            failover: {
              targets: [
                { model: 'gpt-x', priority: 0 },
                { model: 'claude-x', priority: 1 },
              ],
            },
          },
        },
      ],
    }
    running = await startDeciding(JSON.stringify({ gateways: { default: { port } }, llm }), 'json')
  })

  after(async () => {
    await running.stop()
    await Promise.all([openai.close(), anthropic.close()])
  })

  beforeEach(() => {
    for (const provider of [openai, anthropic]) {
      provider.behaviour = {}
      provider.arrived.length = 0
    }
  })

  for (const model of MODELS) {
    it(`openai asks ${model}, whole`, async () => {
      const said = await openaiClient().chat.completions.create({ model, messages: [...HELLO] })
      assert.equal(said.choices[0]?.message.content, 'Grüße')
      assert.equal(said.choices[0]?.finish_reason, 'stop')
      assert.equal(said.usage?.completion_tokens, 3)
      // Anthropic counts cached tokens separately.
      assert.equal(said.usage?.prompt_tokens, 9)
    })

    it(`openai asks ${model}, as a stream`, async () => {
      const stream = await openaiClient().chat.completions.create({
        ...{ model, messages: [...HELLO], stream: true },
      })
      let text = ''
      let finish = ''
      let chunks = 0
      for await (const chunk of stream) {
        chunks++
        // An event of an unknown type has no choices.
        assert.notEqual(chunk.choices?.length, 0, 'usage that was not asked for')
        text += chunk.choices?.[0]?.delta.content ?? ''
        finish = chunk.choices?.[0]?.finish_reason ?? finish
      }
      assert.deepEqual([text, finish], ['Grüße', 'stop'])
      assert.ok(chunks >= 3)
    })

    it(`anthropic asks ${model}, whole`, async () => {
      const said = await anthropicClient().messages.create({
        ...{ model, max_tokens: 50, messages: [...HELLO] },
      })
      assert.equal(said.content[0]?.type === 'text' && said.content[0].text, 'Grüße')
      assert.equal(said.stop_reason, 'end_turn')
      assert.equal(said.usage.output_tokens, 3)
    })

    it(`anthropic asks ${model}, as a stream`, async () => {
      const stream = anthropicClient().messages.stream({
        ...{ model, max_tokens: 50, messages: [...HELLO] },
      })
      const said = await stream.finalMessage()
      assert.equal(said.content[0]?.type === 'text' && said.content[0].text, 'Grüße')
      assert.equal(said.usage.output_tokens, 3)
    })
  }

  it('understand what the gateway denies, and do not retry', async () => {
    const call = { model: 'secret', messages: [...HELLO] }
    await assert.rejects(openaiClient().chat.completions.create(call), (error: unknown) => {
      assert.ok(error instanceof OpenAI.PermissionDeniedError)
      assert.equal(error.type, 'permission_error')
      assert.match(error.message, /denied/)
      return true
    })
    await assert.rejects(
      anthropicClient().messages.create({ ...call, max_tokens: 9 }),
      (error: unknown) => {
        assert.ok(error instanceof Anthropic.PermissionDeniedError)
        assert.match(error.message, /denied/)
        return true
      },
    )
    await assert.rejects(
      openaiClient().chat.completions.create({ ...call, model: 'unheard-of' }),
      OpenAI.NotFoundError,
    )
    assert.equal(openai.arrived.length, 0)
  })

  it('list models', async () => {
    const ids = (await openaiClient().models.list()).data.map(({ id }) => id)
    assert.deepEqual(ids, ['gpt-x', 'claude-x', 'any'])
    const others = (await anthropicClient().models.list()).data.map(({ id }) => id)
    assert.deepEqual(others, ids)
  })

  it('see nothing of a failing provider, even if the next one uses another API', async () => {
    openai.behaviour = { status: 503 }
    const call = { model: 'any', messages: [...HELLO] }
    const said = await openaiClient().chat.completions.create(call)
    assert.equal(said.choices[0]?.message.content, 'Grüße')
    assert.equal(anthropic.bodies()[0]?.model, 'claude-x')
    const stream = await openaiClient().chat.completions.create({ ...call, stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    assert.equal(text, 'Grüße')
  })

  it('get the error of a provider in their own format', async () => {
    anthropic.behaviour = { status: 400 }
    const call = { model: 'claude-x', messages: [...HELLO] }
    for (const stream of [false, true]) {
      await assert.rejects(
        openaiClient().chat.completions.create({ ...call, stream }),
        (error: unknown) => {
          assert.ok(error instanceof OpenAI.BadRequestError)
          assert.match(error.message, /as told/)
          return true
        },
      )
    }
  })

  it('get what the translation dropped in a header, and so does the log', async () => {
    const { response } = await openaiClient()
      .chat.completions.create({ model: 'claude-x', messages: [...HELLO], seed: 7, logit_bias: {} })
      .withResponse()
    const dropped = response.headers.get('x-portcullis-dropped') ?? ''
    assert.match(dropped, /seed/)
    const record = JSON.parse(running.lines.at(-1) ?? '{}')
    assert.equal(record['llm.dropped'], dropped)
  })

  it('get that header regardless of the names and number of their fields', async () => {
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`field-${at}`, 1]))
    const odd = { seed: 7, 'a\r\nset-cookie: b': 1, '\u{1f40d}': 1, ...many }
    const call = { model: 'claude-x', messages: [...HELLO], ...odd }
    const { response } = await openaiClient().chat.completions.create(call).withResponse()
    assert.equal(response.headers.get('set-cookie'), null)
    assert.match(
      response.headers.get('x-portcullis-dropped') ?? '',
      /^a\?\?set-cookie: b, \?\?, field-0,.* and \d+ more$/,
    )
  })

  it('notice a stream that breaks off', async () => {
    for (const [model, provider] of [
      ['gpt-x', openai],
      ['claude-x', anthropic],
    ] as const) {
      provider.behaviour = { dies: 'in-stream' }
      const call = { model, messages: [...HELLO], stream: true as const }
      await assert.rejects(async () => {
        const stream = await openaiClient().chat.completions.create(call)
        let finish: string | null | undefined
        for await (const chunk of stream) finish = chunk.choices?.[0]?.finish_reason
        assert.notEqual(finish, null, 'it ended as if it were complete')
      })
    }
  })
})
