import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { cut, type ModelProvider, startModelProvider } from './model-provider.ts'

const SECRET = { pattern: '(?i)project orion', name: 'SECRET' }
const REJECT = { regex: { action: 'reject', rules: [SECRET] } }
const MASK = { regex: { rules: [SECRET] } }
const base64 = (text: string) => Buffer.from(text).toString('base64')
const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })

let openai: ModelProvider
let anthropic: ModelProvider
let running: Deciding | undefined
let port = 0

async function serve(guardrails: object): Promise<void> {
  const model = (name: string, provider: string, { port: at }: ModelProvider) => ({
    ...{ name, provider },
    params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${at}` },
  })
  const text = JSON.stringify({
    gateways: { default: { port } },
    llm: {
      models: [model('gpt-x', 'openAI', openai), model('claude-x', 'anthropic', anthropic)],
      policies: { guardrails },
    },
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: JSON.stringify({ max_tokens: 9, ...body }),
  })
  return { status: response.status, text: await response.text() }
}

const gpt = (body: object) => call('/v1/chat/completions', { model: 'gpt-x', ...body })
const claude = (body: object) => call('/v1/messages', { model: 'claude-x', ...body })

/** Responds to the next calls with this. */
function respond(provider: ModelProvider, status: number, type: string, ...pieces: Buffer[]): void {
  provider.respondWith = (_: unknown, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type })
    for (const piece of pieces) response.write(piece)
    response.end()
  }
}

describe('what guards of models read', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    anthropic = await startModelProvider('anthropic')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai.close()
    await anthropic.close()
  })

  beforeEach(() => {
    openai.arrived.length = 0
    anthropic.arrived.length = 0
  })

  const document = (source: object) => ({ type: 'document', source })
  const literal = { type: 'text', media_type: 'text/plain', data: 'of project orion' }
  const encoded = { type: 'base64', media_type: 'text/plain', data: base64('of project orion') }
  const use = (input: object) => ({
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input }] },
    ],
  })
  const result = (content: unknown) =>
    user({ type: 'tool_result', tool_use_id: 'a', content } as object)
  for (const [what, send] of [
    ['a document as text', () => claude(user(document(literal)))],
    ['a document as text in a result', () => claude(result([document(literal)]))],
    ['a text file', () => claude(user(document(encoded)))],
    ['the name of a member', () => claude(use({ 'project orion': 1 }))],
    [
      'a member called like one of the API',
      () => claude(use({ status: 'project orion', data: 1 })),
    ],
    ['a JSON result with escapes', () => claude(result('{"a": "\\u0070roject orion"}'))],
    [
      'a file',
      () =>
        gpt(
          user({
            type: 'file',
            file: { file_data: `data:text/csv;base64,${base64('project orion')}` },
          }),
        ),
    ],
    [
      'arguments with escapes',
      () =>
        gpt({
          messages: [
            {
              role: 'assistant',
              tool_calls: [
                {
                  id: 'a',
                  type: 'function',
                  function: { name: 'f', arguments: '{"a":"\\u0070roject orion"}' },
                },
              ],
            },
          ],
        }),
    ],
    ['full-width letters', () => gpt(user({ type: 'text', text: 'ｐｒｏｊｅｃｔ ｏｒｉｏｎ' }))],
    [
      'an input file',
      () =>
        call('/v1/responses', {
          model: 'gpt-x',
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_file', filename: 'a.md', file_data: base64('# Project Orion') },
              ],
            },
          ],
        }),
    ],
  ] as const) {
    it(`${what}, in a request`, async () => {
      await serve({ request: [REJECT] })
      const { status, text } = await send()
      assert.equal(status, 403, text)
      assert.match(text, /not allowed/)
      assert.deepEqual([openai.arrived.length, anthropic.arrived.length], [0, 0])
    })
  }

  it('masks what it reads, in the form in which it was sent', async () => {
    await serve({ request: [MASK] })
    const long = base64(`${'a, '.repeat(200)}project orion`)
    await claude(
      user(document(literal), document({ ...encoded, data: long }), {
        ...{
          type: 'tool_result',
          tool_use_id: 'a',
          content: '{"a": "\\u0070roject orion, \\"b\\""}',
        },
      }),
    )
    const [sent] = anthropic.bodies() as { messages: { content: Record<string, never>[] }[] }[]
    const [first, second, third] = sent?.messages[0]?.content ?? []
    assert.deepEqual(first?.source, { ...literal, data: 'of <SECRET>' })
    const { data } = (second?.source ?? {}) as unknown as typeof encoded
    assert.equal(Buffer.from(data, 'base64').toString(), `${'a, '.repeat(200)}<SECRET>`)
    assert.deepEqual(JSON.parse(third?.content ?? ''), { a: '<SECRET>, "b"' })
    await claude(use({ 'project orion': 1, b: [41111111111111110n].map(Number) }))
    const [, later] = anthropic.bodies() as { messages: { content: { input: object }[] }[] }[]
    assert.deepEqual(later?.messages[1]?.content[0]?.input, {
      '<SECRET>': 1,
      b: [41111111111111110],
    })
  })

  it('rejects what it cannot read, and passes images', async () => {
    await serve({ request: [REJECT] })
    for (const input of [[1, 2], [[1, 2]]]) {
      const { status, text } = await call('/v1/embeddings', { model: 'gpt-x', input })
      assert.equal(status, 400)
      assert.match(text, /content_unreadable/)
    }
    const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0]), Buffer.alloc(600, 7)])
    const url = `data:image/png;base64,${png.toString('base64')}`
    const image = user({ type: 'image_url', image_url: { url } })
    const sent = await gpt(image)
    assert.equal(sent.status, 200)
    assert.deepEqual(openai.bodies()[0]?.messages, image.messages)
  })

  const call_ = (text: string) => ({ index: 0, id: 'a', function: { name: 'f', arguments: text } })
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const whole = {
    id: 'c',
    model: 'm',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: { role: 'assistant', tool_calls: [call_('{"a":"project \\u006frion"}')] },
      },
    ],
  }
  const streamed = [
    chunk({ tool_calls: [call_('{"a":"a long beginning, proj')] }),
    ...['ect', ' \\u0', '06frion"', '}'].map((own) =>
      chunk({ tool_calls: [{ index: 0, function: { arguments: own } }] }),
    ),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ].join('')

  it('rejects arguments that a model writes, also in a stream; a mask leaves them', async () => {
    const ask = user({ type: 'text', text: 'a' })
    await serve({ response: [REJECT] })
    respond(openai, 200, 'application/json', Buffer.from(JSON.stringify(whole)))
    const rejected = await gpt(ask)
    assert.equal(rejected.status, 403)
    respond(openai, 200, 'text/event-stream', ...cut(Buffer.from(streamed), 17))
    const stream = await gpt({ ...ask, stream: true })
    assert.doesNotMatch(stream.text, /proj|DONE/)
    assert.match(stream.text, /content_rejected/)
    await serve({ response: [MASK] })
    const masked = await gpt({ ...ask, stream: true })
    assert.match(masked.text, /DONE/)
    assert.doesNotMatch(masked.text, /SECRET/)
  })

  it('reads the errors of calls that pass', async () => {
    const error = JSON.stringify({ error: { message: 'what is project orion?' } })
    respond(openai, 400, 'application/json', Buffer.from(error))
    const embed = { model: 'gpt-x', input: 'a' }
    await serve({ response: [MASK] })
    const masked = await call('/v1/embeddings', embed)
    assert.equal(masked.status, 400)
    assert.equal(masked.text, error.replace('project orion', '<SECRET>'))
    await serve({ response: [REJECT] })
    const general = await call('/v1/embeddings', embed)
    assert.equal(general.status, 400)
    assert.match(JSON.parse(general.text).error.message, /^The provider failed with status 400/)
    await serve({ request: [REJECT] })
    assert.equal((await call('/v1/embeddings', embed)).text, error)
  })

  it('reads the errors of a provider', async () => {
    const error = { error: { message: 'what is project orion?', type: 'server_error', code: 'x' } }
    const ask = user({ type: 'text', text: 'a' })
    const event = `data: ${JSON.stringify(error)}\n\n`
    for (const [guard, expected] of [
      [MASK, 'what is <SECRET>?'],
      [REJECT, 'The provider failed with status 4'],
    ] as const) {
      await serve({ response: [guard] })
      respond(openai, 400, 'application/json', Buffer.from(JSON.stringify(error)))
      for (const stream of [false, true]) {
        const { status, text } = await gpt({ ...ask, stream })
        assert.equal(status, 400)
        assert.ok(text.includes(expected), text)
        assert.doesNotMatch(text, /orion/)
      }
      respond(openai, 200, 'application/json', Buffer.from(JSON.stringify(error)))
      assert.doesNotMatch((await gpt(ask)).text, /orion/)
      respond(openai, 200, 'text/event-stream', Buffer.from(chunk({ content: 'a' }) + event))
      assert.doesNotMatch((await gpt({ ...ask, stream: true })).text, /orion/)
    }
  })
})
