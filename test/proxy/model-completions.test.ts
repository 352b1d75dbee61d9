import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { writeEventStream } from '../../src/protocols/llm/event-stream.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Provider, startProvider } from './providers.ts'

/* `llm.completion`: the output of a model, regardless of how it arrived. */

let vendor: Provider
let port = 0
let running: Deciding | undefined

async function serve(add: object, more: object = {}): Promise<void> {
  const params = { apiKey: 'sk-vendor', hostOverride: `127.0.0.1:${vendor.port}` }
  const text = JSON.stringify({
    gateways: { default: { port } },
    frontendPolicies: { accessLog: { add } },
    llm: {
      models: [
        { name: 'gpt*', provider: 'openAI', params, ...more },
        { name: 'claude*', provider: 'anthropic', params, ...more },
        { name: '*', provider: 'bedrock', params: { ...params, awsRegion: 'us-east-1' }, ...more },
      ],
    },
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

const REASONED = { type: 'thinking', thinking: 'hm', signature: 's' }
const USED = { type: 'tool_use', id: 't', name: 'look', input: {} }

const WHOLE: Readonly<Record<string, object>> = {
  chat: {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: ['one', 'two'].map((content, index) => {
      return { index, finish_reason: 'stop', message: { role: 'assistant', content } }
    }),
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  messages: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use' },
    content: [REASONED, { type: 'text', text: 'one ' }, { type: 'text', text: 'two' }, USED],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  converse: {
    output: { message: { role: 'assistant', content: [{ text: 'one' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  },
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const named = (type: string, more: object) => `event: ${type}\n${event({ type, ...more })}`
const frame = (type: string, payload: object) =>
  Buffer.from(
    writeEventStream({
      headers: new Map([
        [':message-type', 'event'],
        [':event-type', type],
        [':content-type', 'application/json'],
      ]),
      payload: Buffer.from(JSON.stringify(payload)),
    }),
  )
const delta = (content: string) =>
  event({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content } }] })

const STREAMS: Readonly<Record<string, readonly (string | Buffer)[]>> = {
  chat: [
    ...['on', 'é ', 't', 'wo'].map(delta),
    event({ id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    'data: [DONE]\n\n',
  ],
  messages: [
    named('message_start', {
      message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: {} },
    }),
    named('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } }),
    named('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }),
    named('content_block_stop', { index: 0 }),
    named('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
    named('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'oné ' } }),
    named('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'two' } }),
    named('content_block_stop', { index: 1 }),
    named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }),
    named('message_stop', {}),
  ],
  converse: [
    frame('messageStart', { role: 'assistant' }),
    frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'oné ' } }),
    frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'two' } }),
    frame('contentBlockStop', { contentBlockIndex: 0 }),
    frame('messageStop', { stopReason: 'end_turn' }),
    frame('metadata', { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } }),
  ],
}

/** The access log line of one call. */
async function logged(path: string, model: string, more: object = {}) {
  const { lines } = running ?? assert.fail()
  const known = lines.length
  const messages = [{ role: 'user', content: 'hello' }]
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...{ method: 'POST', headers: { 'anthropic-version': '2023-06-01' } },
    body: JSON.stringify({ model, max_tokens: 9, messages, ...more }),
  })
  const text = await response.text()
  for (let i = 0; i < 200 && lines.length === known; i++) await wait(5)
  const line = JSON.parse(lines.at(-1) ?? '{}')
  return { status: response.status, text, line }
}

const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
const ADD = { said: 'llm.completion', times: 'size(llm.completion)' }

describe('llm.completion', () => {
  before(async () => {
    vendor = await startProvider('vendor')
    vendor.respondWith = ({ url = '' }, response) => {
      const [, kind = ''] = /\/(messages|converse|chat)\b/.exec(url) ?? []
      const isStream = /"stream":\s*true/.test(vendor.arrived.at(-1)?.body ?? '')
      if (!isStream && !url.endsWith('-stream')) {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(WHOLE[kind]))
        return
      }
      const type = kind === 'converse' ? 'application/vnd.amazon.eventstream' : 'text/event-stream'
      response.writeHead(200, { 'content-type': type })
      // Splits at arbitrary bytes.
      const bytes = Buffer.concat((STREAMS[kind] ?? []).map((one) => Buffer.from(one)))
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
      response.end()
    }
    port = await freePort()
    await serve(ADD)
  })

  after(async () => {
    await running?.stop()
    await vendor?.close()
  })

  for (const [title, path, model, said] of [
    ['chat completions as they pass, a text for each choice', CHAT, 'gpt-x', ['one', 'two']],
    ['messages as they pass, without reasoning and tools', MESSAGES, 'claude-x', ['one two']],
    ['messages for a client of chat completions', CHAT, 'claude-x', ['one two']],
    ['Bedrock for a client of chat completions', CHAT, 'amazon.nova-pro-v1:0', ['one']],
  ] as const) {
    it(title, async () => {
      await serve(ADD)
      const { status, line } = await logged(path, model)
      assert.equal(status, 200)
      assert.deepEqual([line.said, line.times], [said, said.length])
    })
  }

  for (const [title, path, model] of [
    ['of chat completions that passes', CHAT, 'gpt-x'],
    ['of messages that passes', MESSAGES, 'claude-x'],
    ['of messages for a client of chat completions', CHAT, 'claude-x'],
    ['of Bedrock for a client of messages', MESSAGES, 'amazon.nova-pro-v1:0'],
  ] as const) {
    it(`a stream ${title}`, async () => {
      await serve(ADD)
      const { status, line } = await logged(path, model, { stream: true })
      assert.equal(status, 200)
      assert.deepEqual([line.said, line.times], [['oné two'], 1])
    })
  }

  it('is the text that guards leave', async () => {
    const response = [{ regex: { action: 'mask', rules: [{ pattern: 'two' }] } }]
    await serve(ADD, { guardrails: { response } })
    for (const stream of [false, true]) {
      const { text, line } = await logged(MESSAGES, 'claude-x', { stream })
      assert.doesNotMatch(text, /two/)
      assert.doesNotMatch(JSON.stringify(line.said), /two/)
      assert.match(JSON.stringify(line.said), /on[eé] /)
    }
  })

  it('is truncated if it is long, and unset if there is no output', async () => {
    const { messages = {} } = WHOLE
    const write = vendor.respondWith
    const responding = (text: string) => {
      vendor.respondWith = (_, response) => {
        const body = { ...messages, content: [{ type: 'text', text }] }
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      }
    }
    await serve({ length: 'size(llm.completion[0])', said: 'llm.completion' })
    responding('é'.repeat(300_000))
    assert.equal((await logged(MESSAGES, 'claude-x')).line.length, 262_144)
    responding('')
    assert.equal((await logged(MESSAGES, 'claude-x')).line.said, undefined)
    vendor.respondWith = 500
    assert.equal((await logged(MESSAGES, 'claude-x')).line.said, undefined)
    vendor.respondWith = write
  })

  it('is not retained unless an expression reads it', async () => {
    await serve({ tokens: 'llm.outputTokens' })
    const { line } = await logged(MESSAGES, 'claude-x')
    assert.equal(line.tokens, 1)
    assert.equal(JSON.stringify(line).includes('one two'), false)
  })
})
