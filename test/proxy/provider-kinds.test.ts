import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { cut, openAiEvents } from './model-provider.ts'
import { type Arrived, type Provider, startProvider } from './providers.ts'

/* Providers that are neither OpenAI nor Anthropic, as strict as they are, behind both SDKs. */

const KEY = 'sk-provider'
const CLIENT_KEY = 'sk-client'

type Rejects = (arrived: Arrived, body: Record<string, unknown>) => string | undefined

interface Kind {
  /** As a file has it. */
  readonly provider: unknown
  readonly params?: object
  readonly credential: readonly [name: string, value: string]
  readonly path: { readonly whole: string; readonly stream: string }
  readonly dialect: 'openai' | 'gemini'
  readonly rejects?: Rejects
}

const GEMINI_KEYS = `contents systemInstruction tools toolConfig generationConfig safetySettings
  cachedContent labels`.split(/\s+/)

const rejectsAsGemini: Rejects = (_, body) => {
  const unknown = Object.keys(body).find((key) => !GEMINI_KEYS.includes(key))
  if (unknown !== undefined) return `Unknown name "${unknown}"`
  const contents = body['contents'] as readonly { role?: string; parts?: readonly object[] }[]
  if (!Array.isArray(contents) || contents.length === 0) return 'contents is not specified'
  for (const { role, parts } of contents) {
    if (role !== 'user' && role !== 'model') return `Please use a valid role: ${role}`
    if (!Array.isArray(parts) || parts.length === 0) return 'contents.parts must not be empty'
  }
  return undefined
}

/** What compatible servers with a strict schema reject. */
const rejectsAsMistral: Rejects = (_, body) => {
  const extra = ['store', 'metadata', 'service_tier'].find((key) => key in body)
  return extra === undefined ? undefined : `Extra inputs are not permitted: ${extra}`
}

const openaiPath = (path: string) => ({ whole: path, stream: path })
const bearer = ['authorization', `Bearer ${KEY}`] as const
const VERTEX = '/v1/projects/p1/locations/europe-west1/publishers/google/models/m'

const KINDS: Readonly<Record<string, Kind>> = {
  gemini: {
    provider: 'gemini',
    credential: ['x-goog-api-key', KEY],
    path: {
      whole: '/v1beta/models/m:generateContent',
      stream: '/v1beta/models/m:streamGenerateContent?alt=sse',
    },
    dialect: 'gemini',
    rejects: rejectsAsGemini,
  },
  vertex: {
    provider: 'vertex',
    params: { vertexProject: 'p1', vertexRegion: 'europe-west1' },
    credential: bearer,
    path: {
      whole: `${VERTEX}:generateContent`,
      stream: `${VERTEX}:streamGenerateContent?alt=sse`,
    },
    dialect: 'gemini',
    rejects: rejectsAsGemini,
  },
  azure: {
    provider: 'azure',
    params: { azureResourceName: 'res' },
    credential: ['api-key', KEY],
    path: openaiPath('/openai/v1/chat/completions'),
    dialect: 'openai',
  },
  'azure-deployments': {
    provider: 'azure',
    params: { azureResourceName: 'res', azureApiVersion: '2024-10-21' },
    credential: ['api-key', KEY],
    path: openaiPath('/openai/deployments/m/chat/completions?api-version=2024-10-21'),
    dialect: 'openai',
  },
  copilot: {
    provider: 'copilot',
    credential: bearer,
    path: openaiPath('/chat/completions'),
    dialect: 'openai',
  },
  cohere: {
    provider: 'cohere',
    credential: bearer,
    path: openaiPath('/compatibility/v1/chat/completions'),
    dialect: 'openai',
  },
  mistral: {
    provider: 'mistral',
    credential: bearer,
    path: openaiPath('/v1/chat/completions'),
    dialect: 'openai',
    rejects: rejectsAsMistral,
  },
  ollama: {
    provider: 'ollama',
    credential: bearer,
    path: openaiPath('/v1/chat/completions'),
    dialect: 'openai',
  },
  groq: {
    provider: 'groq',
    credential: bearer,
    path: openaiPath('/openai/v1/chat/completions'),
    dialect: 'openai',
  },
  custom: {
    provider: { custom: { formats: [{ type: 'completions', path: '/own/chat' }] } },
    credential: bearer,
    path: openaiPath('/own/chat'),
    dialect: 'openai',
  },
}

let server: Provider
let running: Deciding
let port = 0
/** The next call gets this instead. */
let failure: { readonly status: number; readonly body: object } | undefined

const openai = () =>
  new OpenAI({ apiKey: CLIENT_KEY, baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 })
const anthropic = () =>
  new Anthropic({ apiKey: CLIENT_KEY, baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 })
const HELLO = [{ role: 'user', content: 'grüß dich' }] as const

/** Which kind is called: each is another model of one gateway. */
let current: Kind

function serve(_: IncomingMessage, response: ServerResponse): void {
  const arrived = server.arrived.at(-1) as Arrived
  const body = JSON.parse(Buffer.from(arrived.body, 'latin1').toString('utf8'))
  const isStream = body.stream === true || arrived.url.includes(':streamGenerateContent')
  const problem = problemOf(arrived, body, isStream)
  const send = (status: number, value: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (problem !== undefined) send(400, { error: { code: 400, message: problem } })
  else if (failure !== undefined) send(failure.status, failure.body)
  else if (isStream) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const events = current.dialect === 'gemini' ? geminiEvents() : openAiEvents(body)
    writePieces(cut(Buffer.from(events), 5), response)
  } else send(200, current.dialect === 'gemini' ? geminiWhole('Grüße') : openAiWhole())
}

function writePieces(pieces: readonly Buffer[], response: ServerResponse): void {
  const [first, ...rest] = pieces
  if (first === undefined) response.end()
  else response.write(first, () => writePieces(rest, response))
}

function problemOf(
  arrived: Arrived,
  body: Record<string, unknown>,
  isStream: boolean,
): string | undefined {
  const { method, url, headers } = arrived
  const path = isStream ? current.path.stream : current.path.whole
  if (method !== 'POST' || url !== path) return `no such endpoint: ${method} ${url}`
  const [name, value] = current.credential
  if (headers[name] !== value) return `wrong key in ${name}: ${headers[name]}`
  if (JSON.stringify(headers).includes(CLIENT_KEY)) return 'the key of the client has leaked'
  const foreign = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'].find(
    (own) => own !== name && headers[own] !== undefined,
  )
  if (foreign !== undefined) return `${foreign} has leaked`
  if (current.dialect === 'openai' && body['model'] !== 'm') return `no model ${body['model']}`
  return current.rejects?.(arrived, body)
}

const USAGE = { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 }

function geminiWhole(text: string, finishReason: string | undefined = 'STOP'): object {
  const content = { role: 'model', parts: [{ text }] }
  return {
    responseId: 'r1',
    modelVersion: 'm',
    candidates: [{ index: 0, content, ...(finishReason && { finishReason }) }],
    usageMetadata: USAGE,
  }
}

/** With the line ends of the real one. */
function geminiEvents(): string {
  const pieces = [geminiWhole('Grü', ''), geminiWhole('ße', 'STOP')]
  return pieces.map((piece) => `data: ${JSON.stringify(piece)}\r\n\r\n`).join('')
}

function openAiWhole(): object {
  const message = { role: 'assistant', content: 'Grüße' }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  }
}

describe('other providers', () => {
  before(async () => {
    server = await startProvider('any')
    server.answer = serve
    port = await freePort()
    const hostOverride = `127.0.0.1:${server.port}`
    const models = Object.entries(KINDS).map(([name, { provider, params = {} }]) => ({
      ...{ name, provider },
      params: { model: 'm', apiKey: KEY, hostOverride, ...params },
    }))
    const llm = { policies: { apiKey: { keys: [{ key: CLIENT_KEY }] } }, models }
    running = await startDeciding(JSON.stringify({ gateways: { default: { port } }, llm }), 'json')
  })

  after(async () => {
    await running.stop()
    await server.close()
  })

  beforeEach(() => {
    server.arrived.length = 0
    failure = undefined
  })

  for (const [model, kind] of Object.entries(KINDS)) {
    describe(model, () => {
      beforeEach(() => {
        current = kind
      })

      it('openai, whole', async () => {
        const made = await openai().chat.completions.create({ model, messages: [...HELLO] })
        assert.equal(made.choices[0]?.message.content, 'Grüße')
        assert.equal(made.choices[0]?.finish_reason, 'stop')
        assert.deepEqual([made.usage?.prompt_tokens, made.usage?.completion_tokens], [9, 3])
      })

      it('openai, as a stream with its usage', async () => {
        const stream = await openai().chat.completions.create({
          ...{ model, messages: [...HELLO], stream: true },
          stream_options: { include_usage: true },
        })
        let text = ''
        let total = 0
        for await (const { choices, usage } of stream) {
          text += choices?.[0]?.delta.content ?? ''
          total += usage?.total_tokens ?? 0
        }
        assert.deepEqual([text, total], ['Grüße', 12])
      })

      it('anthropic, whole', async () => {
        const made = await anthropic().messages.create({
          ...{ model, max_tokens: 9, messages: [...HELLO] },
        })
        const [block] = made.content
        assert.ok(block?.type === 'text')
        assert.equal(block.text, 'Grüße')
        assert.deepEqual([made.stop_reason, made.usage.output_tokens], ['end_turn', 3])
      })

      it('anthropic, as a stream', async () => {
        const stream = anthropic().messages.stream({
          ...{ model, max_tokens: 9, messages: [...HELLO] },
        })
        assert.equal(await stream.finalText(), 'Grüße')
        assert.equal((await stream.finalMessage()).usage.output_tokens, 3)
      })

      it('an error is one of the client’s own, with its status', async () => {
        const error =
          kind.dialect === 'gemini'
            ? { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' }
            : { message: 'slow down', type: 'rate_limit_error', code: null, param: null }
        failure = { status: 429, body: { error } }
        await assert.rejects(
          openai().chat.completions.create({ model, messages: [...HELLO] }),
          (thrown) => thrown instanceof OpenAI.RateLimitError && /slow down/.test(thrown.message),
        )
        await assert.rejects(
          anthropic().messages.create({ model, max_tokens: 9, messages: [...HELLO] }),
          (thrown) =>
            thrown instanceof Anthropic.RateLimitError && /slow down/.test(thrown.message),
        )
      })
    })
  }
})
