import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { freePort } from '../free-port.ts'
import { type ModelProvider, startModelProvider } from '../proxy/model-provider.ts'
import { type Provider, startProvider } from '../proxy/providers.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'

/*
 * Third-party clients against the gateway and two strict providers; each client calls models of
 * both vendors. `test/peers/install.sh` installs them.
 */
const CACHE = join(import.meta.dirname, '../../.cache/llm-clients')
const KEY = 'sk-client-1234567890'
const MODELS = ['gpt-x', 'claude-x']

function missing(name: string): string | false {
  if (existsSync(join(CACHE, 'node/node_modules', name))) return false
  return `${name} is not in .cache/llm-clients/node`
}

function load<T>(name: string): Promise<T> {
  const resolve = createRequire(join(CACHE, 'node/package.json')).resolve
  return import(pathToFileURL(resolve(name)).href) as Promise<T>
}

let openai: ModelProvider
let anthropic: ModelProvider
let gemini: Provider
let gateway: WholeGateway
let base = ''

const TEXT = 'Grüße'

describe('third-party clients of models', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    gemini = await startProvider('gemini')
    gemini.respondWith = (request, response) => {
      const isStream = request.url?.includes(':streamGenerateContent') === true
      const candidate = (text: string, more: object = {}) => ({
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
        modelVersion: 'gemini-x',
      })
      const isKnown = request.headers['x-goog-api-key'] === 'sk-provider'
      response.writeHead(isKnown ? 200 : 401, {
        'content-type': isStream ? 'text/event-stream' : 'application/json',
      })
      const events = [candidate('Grü'), candidate('ße', { finishReason: 'STOP' })]
      if (isStream) response.end(events.map((it) => `data: ${JSON.stringify(it)}\r\n\r\n`).join(''))
      else response.end(JSON.stringify(candidate(TEXT, { finishReason: 'STOP' })))
    }
    const port = await freePort()
    base = `http://127.0.0.1:${port}`
    const model = (name: string, provider: string, { port: at }: Provider) => ({
      name,
      provider,
      params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}` },
    })
    const models = [
      model('gpt-x', 'openAI', openai),
      model('claude-x', 'anthropic', anthropic),
      model('gemini-x', 'gemini', gemini),
    ]
    const policies = { apiKey: { keys: [{ key: KEY }] } }
    gateway = await startWhole(
      JSON.stringify({ gateways: { default: { port } }, llm: { models, policies } }),
    )
  })

  after(async () => {
    await gateway?.stop()
    for (const one of [openai, anthropic, gemini]) await one?.close()
  })

  it('@google/genai', { skip: missing('@google/genai') }, async () => {
    interface Response {
      readonly text: string
    }
    interface Client {
      readonly models: {
        generateContent(call: object): Promise<Response>
        generateContentStream(call: object): Promise<AsyncIterable<Response>>
      }
    }
    const { GoogleGenAI } = await load<{ GoogleGenAI: new (options: object) => Client }>(
      '@google/genai',
    )
    const { models } = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: base } })
    const call = { model: 'gemini-x', contents: 'hello' }
    assert.equal((await models.generateContent(call)).text, TEXT)
    let text = ''
    for await (const part of await models.generateContentStream(call)) text += part.text
    assert.equal(text, TEXT)
    const wrong = new GoogleGenAI({ apiKey: 'wrong', httpOptions: { baseUrl: base } })
    await assert.rejects(wrong.models.generateContent(call), /401|UNAUTHENTICATED|key/i)
  })

  describe('Vercel AI SDK', { skip: missing('ai') }, () => {
    interface Sdk {
      generateText(call: object): Promise<{ text: string; usage: { totalTokens: number } }>
      streamText(call: object): { readonly textStream: AsyncIterable<string> }
    }
    type Create = (options: object) => { chat(model: string): object; (model: string): object }
    const providers = {
      '@ai-sdk/openai': async () => {
        const { createOpenAI } = await load<{ createOpenAI: Create }>('@ai-sdk/openai')
        return createOpenAI({ baseURL: `${base}/v1`, apiKey: KEY }).chat
      },
      '@ai-sdk/anthropic': async () => {
        const { createAnthropic } = await load<{ createAnthropic: Create }>('@ai-sdk/anthropic')
        return createAnthropic({ baseURL: `${base}/v1`, apiKey: KEY })
      },
    }
    for (const [name, open] of Object.entries(providers)) {
      for (const model of MODELS) {
        it(`${name} and ${model}`, { skip: missing(name) }, async () => {
          const { generateText, streamText } = await load<Sdk>('ai')
          const use = await open()
          const call = { model: use(model), prompt: 'hello', maxOutputTokens: 50, maxRetries: 0 }
          const { text, usage } = await generateText(call)
          assert.equal(text, TEXT)
          assert.equal(usage.totalTokens, 12)
          let streamed = ''
          for await (const piece of streamText(call).textStream) streamed += piece
          assert.equal(streamed, TEXT)
        })
      }
    }
  })

  describe('LangChain', { skip: missing('@langchain/core') }, () => {
    interface Chat {
      invoke(text: string): Promise<{ readonly content: string }>
      stream(text: string): Promise<AsyncIterable<{ readonly content: string }>>
    }
    type Constructor = new (options: object) => Chat
    const common = { apiKey: KEY, maxTokens: 50, maxRetries: 0 }
    const chats = {
      '@langchain/openai': async (model: string) => {
        const { ChatOpenAI } = await load<{ ChatOpenAI: Constructor }>('@langchain/openai')
        return new ChatOpenAI({ ...common, model, configuration: { baseURL: `${base}/v1` } })
      },
      '@langchain/anthropic': async (model: string) => {
        const { ChatAnthropic } = await load<{ ChatAnthropic: Constructor }>('@langchain/anthropic')
        return new ChatAnthropic({ ...common, model, anthropicApiUrl: base })
      },
    }
    for (const [name, open] of Object.entries(chats)) {
      for (const model of MODELS) {
        it(`${name} and ${model}`, { skip: missing(name) }, async () => {
          const chat = await open(model)
          assert.equal((await chat.invoke('hello')).content, TEXT)
          let text = ''
          for await (const { content } of await chat.stream('hello')) text += content
          assert.equal(text, TEXT)
        })
      }
    }
  })

  describe('Python', () => {
    const skipFor = (name: string) =>
      existsSync(join(CACHE, 'python', name))
        ? false
        : `${name} is not in .cache/llm-clients/python`
    const run = (script: string, ...args: readonly string[]) =>
      new Promise<string>((resolve, reject) => {
        const env = { ...process.env, PYTHONPATH: join(CACHE, 'python'), PYTHONIOENCODING: 'utf-8' }
        const options = { env, timeout: 240_000 }
        execFile('python3', ['-c', script, ...args], options, (error, out, err) =>
          error === null ? resolve(out.trim()) : reject(new Error(err)),
        )
      })
    const OPENAI = `
import sys, openai
c = openai.OpenAI(base_url=sys.argv[1] + '/v1', api_key=sys.argv[2], max_retries=0)
m = [{'role': 'user', 'content': 'hello'}]
print(c.chat.completions.create(model=sys.argv[3], messages=m, max_tokens=50).choices[0].message.content)
s = c.chat.completions.create(model=sys.argv[3], messages=m, max_tokens=50, stream=True)
print(''.join(p.choices[0].delta.content or '' for p in s if p.choices))
try: openai.OpenAI(base_url=sys.argv[1] + '/v1', api_key='wrong', max_retries=0).models.list()
except openai.AuthenticationError as e: print(e.status_code)
`
    const ANTHROPIC = `
import sys, anthropic
c = anthropic.Anthropic(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
m = [{'role': 'user', 'content': 'hello'}]
print(c.messages.create(model=sys.argv[3], messages=m, max_tokens=50).content[0].text)
with c.messages.stream(model=sys.argv[3], messages=m, max_tokens=50) as s: print(''.join(s.text_stream))
try: c.messages.create(model='none', messages=m, max_tokens=50)
except anthropic.NotFoundError as e: print(e.status_code)
`
    for (const model of MODELS) {
      it(`openai and ${model}`, { skip: skipFor('openai') }, async () => {
        assert.equal(await run(OPENAI, base, KEY, model), `${TEXT}\n${TEXT}\n401`)
      })
      it(`anthropic and ${model}`, { skip: skipFor('anthropic') }, async () => {
        assert.equal(await run(ANTHROPIC, base, KEY, model), `${TEXT}\n${TEXT}\n404`)
      })
    }
  })
})
