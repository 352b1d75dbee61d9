import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { dialectOf, recognizeEndpoint } from './dialects/index.ts'
import { type DialectName, translatorFor } from './index.ts'
import { EVENTS, frame, streamOf } from './testdata/streamed-responses.ts'
import { WHOLE } from './testdata/whole-responses.ts'

/*
 * The vendors' own clients over a socket, against a server that translates for a provider made of
 * recorded responses. Clients throw on anything they do not accept.
 */

const PROVIDERS: readonly DialectName[] = [
  'completions',
  'responses',
  'messages',
  'gemini',
  'converse',
]
const ARGUMENTS = { city: 'Bern' }
const TEXT = 'Grüße 🌍'

let server: Server
let address = ''
/** How the provider deviates from its usual response. */
let mode: 'plain' | 'error' | 'stream error' | 'truncated' = 'plain'

before(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const [, provider = '', path = ''] = /^\/([a-z]+)(\/.*)$/.exec(request.url ?? '') ?? []
    const endpoint = recognizeEndpoint(String(request.method), path)
    assert.ok(endpoint !== undefined)
    const client = dialectOf(endpoint.dialect)
    const to = provider as DialectName
    const translator = translatorFor(endpoint.dialect, to)
    const options = { endpoint, model: 'some-model', maker: to }
    const call = translator?.translate(Buffer.concat(chunks), options)
    assert.ok(call !== undefined)
    const send = (status: number, headers: readonly (readonly [string, string])[]): void => {
      response.writeHead(status, headers.flat() as string[])
    }
    if (!call.ok) {
      const error = client.writeError(call.error)
      send(error.status, error.headers)
      response.end(error.body)
    } else if (mode === 'error') {
      const header = (name: string) => (name === 'retry-after' ? '7' : undefined)
      const error = call.value.error(429, header, ERROR_BODIES[to] ?? Buffer.alloc(0))
      send(error.status, [...error.headers, ['x-should-retry', 'false']])
      response.end(error.body)
    } else if (call.value.stream) {
      const stream = call.value.openStream()
      send(
        200,
        stream.headers.length > 0 ? stream.headers : [['content-type', 'text/event-stream']],
      )
      // The vendor's client throws on unknown events, which it receives only in pass-through mode.
      const events = (EVENTS[to] ?? []).filter(([name]) => !name?.includes('future'))
      let bytes = Buffer.from(streamOf(to, events))
      if (mode === 'truncated') bytes = bytes.subarray(0, bytes.length >> 1)
      if (mode === 'stream error')
        bytes = Buffer.concat([
          bytes.subarray(0, cut(to, bytes)),
          STREAM_ERRORS[to] ?? Buffer.alloc(0),
        ])
      for (let at = 0; at < bytes.length; at += 100) {
        response.write(stream.push(bytes.subarray(at, at + 100)))
      }
      response.end(stream.end())
    } else {
      const whole = call.value.response(Buffer.from(JSON.stringify(WHOLE[to])))
      assert.ok(whole.ok)
      send(200, [['content-type', 'application/json']])
      response.end(whole.value.body)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

after(() => {
  server.close()
  server.closeAllConnections()
})

/** Between two events, after the first few. */
function cut(provider: DialectName, bytes: Buffer): number {
  if (provider === 'converse') return bytes.readUInt32BE(0)
  return bytes.indexOf('\n\n', bytes.indexOf('data:')) + 2
}

const line = (data: unknown, event?: string): Buffer =>
  Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)

const STREAM_ERRORS: Readonly<Record<string, Uint8Array>> = {
  completions: line({ error: { message: 'too much', code: 'rate_limit_exceeded' } }),
  responses: line({ type: 'error', code: 'rate_limit_exceeded', message: 'too much' }, 'error'),
  messages: line(
    { type: 'error', error: { type: 'overloaded_error', message: 'too much' } },
    'error',
  ),
  gemini: line({ error: { code: 503, message: 'too much', status: 'UNAVAILABLE' } }),
  converse: frame('throttlingException', { message: 'too much' }, 'exception'),
}

const body = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const ERROR_BODIES: Readonly<Record<string, Uint8Array>> = {
  completions: body({
    error: { message: 'slow down', type: 'requests', code: 'rate_limit_exceeded' },
  }),
  responses: body({ error: { message: 'slow down', type: 'requests' } }),
  messages: body({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }),
  gemini: body([{ error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' } }]),
  converse: body({ message: 'slow down' }),
}

const openai = (provider: string): OpenAI =>
  new OpenAI({ baseURL: `${address}/${provider}/v1`, apiKey: 'k', maxRetries: 0 })
const anthropic = (provider: string): Anthropic =>
  new Anthropic({ baseURL: `${address}/${provider}`, apiKey: 'k', maxRetries: 0 })

const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
const message = { ...chat, max_tokens: 100 }

async function inMode<T>(wanted: typeof mode, run: () => Promise<T>): Promise<T> {
  mode = wanted
  try {
    return await run()
  } finally {
    mode = 'plain'
  }
}

for (const provider of PROVIDERS) {
  describe(`clients of the vendors before ${provider}`, () => {
    it('openai: chat completions', async () => {
      const { choices, usage } = await openai(provider).chat.completions.create(chat)
      assert.equal(choices[0]?.message.content, TEXT)
      assert.equal(choices[0]?.finish_reason, 'tool_calls')
      const call = choices[0]?.message.tool_calls?.[0]
      assert.ok(call?.type === 'function')
      assert.deepEqual(JSON.parse(call.function.arguments), ARGUMENTS)
      assert.equal(usage?.prompt_tokens, 100)
      assert.equal(usage?.completion_tokens, 50)
    })

    it('openai: chat completions as a stream', async () => {
      const runner = openai(provider).chat.completions.stream({
        ...chat,
        stream_options: { include_usage: true },
      })
      const { choices, usage } = await runner.finalChatCompletion()
      assert.equal(choices[0]?.message.content, TEXT)
      assert.equal(choices[0]?.finish_reason, 'tool_calls')
      const calls = choices[0]?.message.tool_calls ?? []
      assert.equal(calls.length, 2)
      assert.ok(calls[0]?.type === 'function')
      assert.deepEqual(JSON.parse(calls[0].function.arguments), ARGUMENTS)
      assert.equal(usage?.prompt_tokens, 100)
      assert.equal(usage?.total_tokens, 150)
    })

    it('openai: no usage event for a client that did not request it', async () => {
      const stream = await openai(provider).chat.completions.create({ ...chat, stream: true })
      for await (const chunk of stream) {
        assert.equal(chunk.choices.length, 1)
        assert.ok(!chunk.usage)
      }
    })

    it('openai: responses', async () => {
      const response = await openai(provider).responses.create({ model: 'm', input: 'hi' })
      assert.equal(response.output_text, TEXT)
      assert.equal(response.status, 'completed')
      const call = response.output.find((item) => item.type === 'function_call')
      assert.deepEqual(JSON.parse(call?.arguments ?? ''), ARGUMENTS)
      assert.equal(response.usage?.input_tokens, 100)
    })

    it('openai: responses as a stream', async () => {
      const stream = openai(provider).responses.stream({ model: 'm', input: 'hi' })
      let text = ''
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta
      })
      const response = await stream.finalResponse()
      assert.equal(text, TEXT)
      assert.equal(response.output_text, TEXT)
      const calls = response.output.filter((item) => item.type === 'function_call')
      assert.deepEqual(
        calls.map(({ name }) => name),
        ['get_weather', 'get_time'],
      )
      assert.equal(response.usage?.output_tokens, 50)
    })

    it('anthropic: messages', async () => {
      const { content, stop_reason, usage } = await anthropic(provider).messages.create(message)
      assert.equal(content.find((block) => block.type === 'text')?.text, TEXT)
      assert.equal(stop_reason, 'tool_use')
      assert.deepEqual(content.find((block) => block.type === 'tool_use')?.input, ARGUMENTS)
      const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
      assert.equal(
        input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
        100,
      )
    })

    it('anthropic: messages as a stream', async () => {
      const stream = anthropic(provider).messages.stream(message)
      const { content, stop_reason, usage } = await stream.finalMessage()
      assert.equal(content.find((block) => block.type === 'text')?.text, TEXT)
      assert.equal(stop_reason, 'tool_use')
      const calls = content.filter((block) => block.type === 'tool_use')
      assert.deepEqual(
        calls.map(({ input }) => input),
        [ARGUMENTS, {}],
      )
      assert.equal(usage.output_tokens, 50)
    })

    it('errors before the first byte are the errors of the SDK', async () => {
      await inMode('error', async () => {
        await assert.rejects(openai(provider).chat.completions.create(chat), (error) => {
          assert.ok(error instanceof OpenAI.RateLimitError)
          assert.match(error.message, /slow down/)
          return true
        })
        await assert.rejects(anthropic(provider).messages.create(message), (error) => {
          assert.ok(error instanceof Anthropic.RateLimitError)
          assert.match(error.message, /slow down/)
          return true
        })
      })
    })

    for (const [kind, words] of [
      ['stream error', /too much/],
      ['truncated', /early|error|ended/i],
    ] as const) {
      // Bytes are passed through between equal dialects, and so is the way the stream ends.
      const isBytes = (name: string): boolean => kind === 'truncated' && name === provider
      it(`${kind}: each client throws`, async () => {
        await inMode(kind, async () => {
          if (!isBytes('completions')) {
            const stream = openai(provider).chat.completions.stream(chat)
            await assert.rejects(stream.finalChatCompletion(), words)
          }
          if (!isBytes('responses')) {
            const stream = await openai(provider).responses.create({
              model: 'm',
              input: 'hi',
              stream: true,
            })
            await assert.rejects(drain(stream), words)
          }
          if (!isBytes('messages')) {
            await assert.rejects(anthropic(provider).messages.stream(message).finalMessage(), words)
          }
        })
      })
    }
  })
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream) {
    // Only its end is of interest.
  }
}
