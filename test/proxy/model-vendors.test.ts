import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { cut, openAiEvents } from './model-provider.ts'
import { type Arrived, type Provider, startProvider } from './providers.ts'

/*
 * Vendors that differ in addresses, credentials and API format, each as a server that rejects what
 * the vendor rejects: another path, a foreign credential, an unknown field.
 */

interface Vendor {
  readonly name: string
  readonly provider: string
  readonly params: Readonly<Record<string, string>>
  /** The only header that may have a credential, and its required value. */
  readonly credential: readonly [name: string, value: string]
  /** Paths with their query, complete and streamed. */
  readonly paths: readonly [whole: string, stream: string]
  readonly speaks: 'completions' | 'gemini'
  /** `gen_ai.provider.name`. */
  readonly telemetry: string
}

const GEMINI = 'models/m-x'
const PROJECT = '/v1/projects/p-1/locations/us-east1/publishers/google'
const bearer = ['authorization', 'Bearer sk-vendor'] as const

const compatible = (
  provider: string,
  base: string,
  params: Vendor['params'] = {},
  telemetry = provider,
): Vendor => ({
  ...{ name: provider, provider, params, telemetry, credential: bearer, speaks: 'completions' },
  paths: [`${base}/chat/completions`, `${base}/chat/completions`],
})

const AZURE = { azureResourceName: 'res' }
const DEPLOYMENT = '/openai/deployments/m-x/chat/completions?api-version=2024-10-21'

const VENDORS: readonly Vendor[] = [
  {
    ...{ name: 'gemini', provider: 'gemini', params: {}, speaks: 'gemini' },
    credential: ['x-goog-api-key', 'sk-vendor'],
    telemetry: 'gcp.gemini',
    paths: [`/v1beta/${GEMINI}:generateContent`, `/v1beta/${GEMINI}:streamGenerateContent?alt=sse`],
  },
  {
    ...{ name: 'vertex', provider: 'vertex', speaks: 'gemini', credential: bearer },
    params: { vertexProject: 'p-1', vertexRegion: 'us-east1' },
    telemetry: 'gcp.vertex_ai',
    paths: [
      `${PROJECT}/${GEMINI}:generateContent`,
      `${PROJECT}/${GEMINI}:streamGenerateContent?alt=sse`,
    ],
  },
  {
    ...compatible('azure', '/openai/v1', AZURE, 'azure.ai.openai'),
    credential: ['api-key', 'sk-vendor'],
  },
  {
    ...compatible('azure', '', { ...AZURE, azureApiVersion: '2024-10-21' }, 'azure.ai.openai'),
    ...{ name: 'azure-dated', credential: ['api-key', 'sk-vendor'] },
    paths: [DEPLOYMENT, DEPLOYMENT],
  },
  compatible('cohere', '/compatibility/v1'),
  compatible('mistral', '/v1', {}, 'mistral_ai'),
  compatible('ollama', '/v1'),
  compatible('groq', '/openai/v1'),
  compatible('xai', '/v1', {}, 'x_ai'),
]

const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie']
const GEMINI_FIELDS = new Set([
  ...['contents', 'systemInstruction', 'generationConfig', 'tools', 'toolConfig', 'safetySettings'],
  ...['cachedContent', 'labels'],
])

/** The vendor's objection to a request, if any. */
function problemOf(
  { credential, paths, speaks }: Vendor,
  { url, headers, body }: Arrived,
): string | undefined {
  const [name, value] = credential
  if (headers[name] !== value) return `401 ${name}: ${headers[name]}`
  const leaked = CREDENTIALS.find((one) => one !== name && headers[one] !== undefined)
  if (leaked !== undefined) return `400 ${leaked} has leaked`
  if (headers['anthropic-version'] !== undefined) return '400 a header of another vendor'
  const call = JSON.parse(Buffer.from(body, 'latin1').toString()) as Record<string, unknown>
  const isStream = speaks === 'gemini' ? url.includes(':stream') : call.stream === true
  const wanted = paths[isStream ? 1 : 0]
  if (url !== wanted) return `404 ${url} is not ${wanted}`
  if (speaks !== 'gemini') {
    if (call.model !== 'm-x' || !Array.isArray(call.messages)) return '400 model or messages'
    return undefined
  }
  const unknown = Object.keys(call).find((field) => !GEMINI_FIELDS.has(field))
  if (unknown !== undefined) return `400 Unknown name "${unknown}"`
  const contents = call.contents as readonly { role?: string; parts?: readonly unknown[] }[]
  const isFit = contents?.every(
    ({ role, parts }) => /^(user|model)$/.test(role ?? '') && parts?.length,
  )
  return isFit ? undefined : '400 contents'
}

const GEMINI_USAGE = { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 }

function geminiResponse(text: string, finishReason?: string): object {
  const content = { role: 'model', parts: [{ text }] }
  const candidate = { content, index: 0, ...(finishReason ? { finishReason } : {}) }
  return {
    ...{ candidates: [candidate], modelVersion: 'm-x', responseId: 'r-1' },
    ...(finishReason ? { usageMetadata: GEMINI_USAGE } : {}),
  }
}

function respond({ speaks }: Vendor, { url, body }: Arrived, response: ServerResponse): void {
  const call = JSON.parse(Buffer.from(body, 'latin1').toString()) as Record<string, unknown>
  const isStream = speaks === 'gemini' ? url.includes(':stream') : call.stream === true
  if (!isStream) {
    const completion = {
      ...{ id: 'c-1', object: 'chat.completion', created: 1, model: 'm-x' },
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Grüße' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    }
    const whole = speaks === 'gemini' ? geminiResponse('Grüße', 'STOP') : completion
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
    return
  }
  const events =
    speaks === 'gemini'
      ? [geminiResponse('Grü'), geminiResponse('ße', 'STOP')]
          .map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`)
          .join('')
      : openAiEvents(call)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const piece of cut(Buffer.from(events), 17)) response.write(piece)
  response.end()
}

const error = (vendor: Vendor, status: number, message: string) =>
  vendor.speaks === 'gemini'
    ? { error: { code: status, message, status: 'RESOURCE_EXHAUSTED' } }
    : { error: { message, type: 'x', code: null } }

describe('vendors', () => {
  const servers = new Map<Vendor, Provider>()
  let running: Deciding
  let port = 0
  let isBusy = false

  before(async () => {
    for (const vendor of VENDORS) {
      const provider = await startProvider(vendor.name)
      provider.respondWith = (_: IncomingMessage, response: ServerResponse) => {
        const arrived = provider.arrived.at(-1) as Arrived
        const problem = isBusy ? '429 busy' : problemOf(vendor, arrived)
        if (problem === undefined) {
          respond(vendor, arrived, response)
          return
        }
        const status = Number(problem.slice(0, 3))
        const body = JSON.stringify(error(vendor, status, problem))
        response.writeHead(status, { 'content-type': 'application/json' }).end(body)
      }
      servers.set(vendor, provider)
    }
    port = await freePort()
    const models = VENDORS.map((vendor) => ({
      name: vendor.name,
      provider: vendor.provider,
      params: {
        ...{ model: 'm-x', apiKey: 'sk-vendor', ...vendor.params },
        hostOverride: `127.0.0.1:${servers.get(vendor)?.port}`,
      },
    }))
    const config = { gateways: { default: { port } }, llm: { models } }
    running = await startDeciding(JSON.stringify(config), 'json')
  })

  after(async () => {
    await running.stop()
    await Promise.all([...servers.values()].map((one) => one.close()))
  })

  beforeEach(() => {
    isBusy = false
  })

  const openai = () =>
    new OpenAI({ apiKey: 'sk-client', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 })
  const anthropic = () =>
    new Anthropic({ apiKey: 'sk-client', baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 })
  const HELLO = [{ role: 'user', content: 'hello' }] as const

  for (const { name, telemetry } of VENDORS) {
    it(`${name}: chat completions, whole and streamed`, async () => {
      const whole = await openai().chat.completions.create({ model: name, messages: [...HELLO] })
      assert.equal(whole.choices[0]?.message.content, 'Grüße')
      assert.deepEqual([whole.usage?.prompt_tokens, whole.usage?.completion_tokens], [9, 3])
      const stream = await openai().chat.completions.create({
        ...{ model: name, messages: [...HELLO], stream: true },
      })
      let text = ''
      for await (const { choices } of stream) text += choices?.[0]?.delta.content ?? ''
      assert.equal(text, 'Grüße')
      const line = running.lines.find((one) => one.includes(`"gen_ai.request.model":"${name}"`))
      assert.ok(line?.includes(`"gen_ai.provider.name":"${telemetry}"`), line ?? 'no line')
    })

    it(`${name}: messages, whole and streamed`, async () => {
      const call = { model: name, max_tokens: 50, system: 'be kind', messages: [...HELLO] }
      const whole = await anthropic().messages.create(call)
      assert.equal(whole.content[0]?.type === 'text' && whole.content[0].text, 'Grüße')
      assert.equal(whole.usage.output_tokens, 3)
      const streamed = await anthropic().messages.stream(call).finalMessage()
      assert.equal(streamed.content[0]?.type === 'text' && streamed.content[0].text, 'Grüße')
      assert.equal(streamed.stop_reason, 'end_turn')
    })

    it(`${name}: its errors are those of the client's SDK`, async () => {
      isBusy = true
      const completion = openai().chat.completions.create({ model: name, messages: [...HELLO] })
      await assert.rejects(completion, OpenAI.RateLimitError)
      const call = { model: name, max_tokens: 50, messages: [...HELLO] }
      await assert.rejects(anthropic().messages.create(call), Anthropic.RateLimitError)
    })
  }
})
