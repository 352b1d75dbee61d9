import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import { SignatureV4 } from '@smithy/signature-v4'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Provider, startProvider } from './providers.ts'

const AWS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/+key' }
const MODEL = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'

let bedrock: Provider
let port = 0
let running: Deciding | undefined

/** Adapts a hash to the interface that AWS's own SDK expects. */
class Sha256 {
  readonly #hash

  constructor(secret?: string | Uint8Array) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret)
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}

/** Checks as Bedrock does: signs the received request again with AWS's SDK. */
async function isSigned(): Promise<boolean> {
  const { method, url, headers, body } = bedrock.arrived.at(-1) as Provider['arrived'][number]
  const time = String(headers['x-amz-date'])
  const at = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const signer = new SignatureV4({
    service: 'bedrock',
    region: 'eu-central-1',
    credentials: { ...AWS, ...(headers['x-amz-security-token'] ? { sessionToken: 'token' } : {}) },
    sha256: Sha256 as never,
    applyChecksum: false,
  })
  const signed = (await signer.sign(
    {
      method,
      protocol: 'http:',
      hostname: '127.0.0.1',
      path: url,
      query: {},
      headers: { host: String(headers.host) },
      body: Buffer.from(body, 'latin1'),
    } as never,
    { signingDate: new Date(at) },
  )) as unknown as { readonly headers: Readonly<Record<string, string>> }
  return signed.headers['authorization'] === headers.authorization
}

const utf8 = new TextEncoder()
const codec = new EventStreamCodec(
  (input) => Buffer.from(input).toString('utf8'),
  (text) => utf8.encode(text),
)

function message(event: string, body: object): Buffer {
  const header = (value: string) => ({ type: 'string', value }) as const
  return Buffer.from(
    codec.encode({
      headers: {
        ':message-type': header('event'),
        ':event-type': header(event),
        ':content-type': header('application/json'),
      },
      body: utf8.encode(JSON.stringify(body)),
    }),
  )
}

function respond(url: string, response: ServerResponse): void {
  const usage = { inputTokens: 9, outputTokens: 3, totalTokens: 12 }
  if (url.endsWith('/converse')) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        output: { message: { role: 'assistant', content: [{ text: 'Grüße' }] } },
        stopReason: 'end_turn',
        usage,
      }),
    )
    return
  }
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
  const all = Buffer.concat([
    message('messageStart', { role: 'assistant' }),
    message('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Grü' } }),
    message('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'ße' } }),
    message('contentBlockStop', { contentBlockIndex: 0 }),
    message('messageStop', { stopReason: 'end_turn' }),
    message('metadata', { usage }),
  ])
  for (let i = 0; i < all.length; i += 13) response.write(all.subarray(i, i + 13))
  response.end()
}

async function serve(auth: object): Promise<void> {
  const text = JSON.stringify({
    gateways: { default: { port } },
    llm: {
      models: [
        {
          name: 'claude',
          provider: 'bedrock',
          auth,
          params: {
            model: MODEL,
            awsRegion: 'eu-central-1',
            hostOverride: `127.0.0.1:${bedrock.port}`,
          },
        },
      ],
    },
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(more: object = {}, path = '/v1/chat/completions') {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer of-the-client', 'x-api-key': 'of-the-client' },
    body: JSON.stringify({
      model: 'claude',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'grüß dich' }],
      ...more,
    }),
  })
  return { status: response.status, text: await response.text() }
}

describe('Bedrock', () => {
  before(async () => {
    bedrock = await startProvider('bedrock')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await bedrock.close()
  })

  beforeEach(() => {
    bedrock.arrived.length = 0
    bedrock.respondWith = (request, response) => respond(request.url ?? '', response)
  })

  for (const [what, more] of [
    ['credentials', {}],
    ['temporary credentials', { sessionToken: 'token' }],
  ] as const) {
    it(`is sent calls that are signed with ${what}`, async () => {
      await serve({ aws: { ...AWS, ...more } })
      const { status, text } = await call()
      assert.equal(status, 200, text)
      assert.equal(JSON.parse(text).choices[0].message.content, 'Grüße')
      assert.equal(await isSigned(), true)
      const [{ url, headers, body }] = bedrock.arrived as [Provider['arrived'][number]]
      assert.equal(url, `/model/${encodeURIComponent(MODEL)}/converse`)
      assert.equal(headers['x-api-key'], undefined)
      assert.ok(!JSON.stringify(headers).includes('of-the-client'))
      assert.deepEqual(JSON.parse(Buffer.from(body, 'latin1').toString()).messages, [
        { role: 'user', content: [{ text: 'grüß dich' }] },
      ])
    })
  }

  it('streams to clients of each API', async () => {
    await serve({ aws: AWS })
    const { text } = await call({ stream: true })
    assert.match(text, /"content":"Grü"/)
    assert.match(text, /\[DONE\]/)
    assert.equal(await isSigned(), true)
    const messages = await call({ stream: true }, '/v1/messages')
    assert.match(messages.text, /"text":"ße"/)
    assert.match(messages.text, /event: message_stop/)
  })

  it('is sent a bearer key instead, if one is set', async () => {
    await serve({ key: 'bedrock-key' })
    assert.equal((await call()).status, 200)
    assert.equal(bedrock.arrived[0]?.headers.authorization, 'Bearer bedrock-key')
  })

  it('that responds with an exception in a stream ends it with an error', async () => {
    await serve({ aws: AWS })
    bedrock.respondWith = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
      response.write(message('messageStart', { role: 'assistant' }))
      const header = (value: string) => ({ type: 'string', value }) as const
      const exception = codec.encode({
        headers: {
          ':message-type': header('exception'),
          ':exception-type': header('throttlingException'),
          ':content-type': header('application/json'),
        },
        body: utf8.encode('{"message":"slow down"}'),
      })
      response.end(Buffer.from(exception))
    }
    const { text } = await call({ stream: true })
    assert.match(text, /slow down/)
    assert.ok(!text.includes('[DONE]'), text)
  })
})
