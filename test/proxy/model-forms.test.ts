import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { deny, type Provider, startProvider } from './providers.ts'

/* Calls whose body is a form with files: the model is one of its fields. */

let one: Provider
let two: Provider
let running: Deciding | undefined
let port = 0

const TYPE = 'multipart/form-data; boundary=xYz'

function field(name: string, value: string, more = ''): string {
  return `--xYz\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
}

const FILE = field('file', 'RIFF\r\n--\r\n\0\xff', '; filename="a.wav"\r\nContent-Type: audio/wav')
const END = '--xYz--\r\n'

async function serve(config: object) {
  const text = JSON.stringify(config)
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

/** A backend of kind `ai` with rules about models. */
function serveBackend(policies: object, provider: object = {}, route: object = {}) {
  const main = {
    name: 'main',
    provider: { openAI: provider },
    hostOverride: `127.0.0.1:${one.port}`,
    policies: { backendAuth: { key: 'sk-provider' } },
  }
  return serve({
    gateways: { default: { port } },
    backends: [{ name: 'models', ai: { groups: [{ providers: [main] }] }, policies }],
    routes: [{ name: 'forms', policies: route, backends: [{ backend: 'models' }] }],
  })
}

const RULES = deny("llm.requestModel == 'gpt-y' || llm.params.n == 9")

const TRANSCRIPTIONS = '/v1/audio/transcriptions'

async function post(
  form: string,
  path = TRANSCRIPTIONS,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: Buffer.from(form, 'latin1'),
    headers: { 'content-type': TYPE, ...headers },
  })
  return { status: response.status, text: await response.text() }
}

function respond(provider: Provider) {
  provider.respondWith = (_, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ text: 'hello', data: [{ b64_json: 'AA==' }] }))
}

describe('forms with files', () => {
  before(async () => {
    ;[one, two] = await Promise.all([startProvider('one'), startProvider('two')])
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await Promise.all([one.close(), two.close()])
  })

  beforeEach(() => {
    for (const provider of [one, two]) {
      provider.arrived.length = 0
      respond(provider)
    }
  })

  it('pass byte for byte with rules that read their fields', async () => {
    await serveBackend(RULES)
    const ends = [
      'audio/transcriptions',
      'audio/translations',
      'images/edits',
      'images/variations',
      'videos',
    ]
    for (const end of ends) {
      const path = `/v1/${end}`
      for (const form of [
        field('model', 'gpt-x') + FILE + END,
        FILE + field('model', 'gpt-x') + END,
      ]) {
        assert.equal((await post(form, `${path}?a=1`)).status, 200)
        const [arrived] = one.arrived.splice(0)
        assert.equal(arrived?.url, `${path}?a=1`)
        assert.equal(arrived?.body, form)
        assert.equal(arrived?.headers['content-type'], TYPE)
        assert.equal(arrived?.headers.authorization, 'Bearer sk-provider')
      }
      assert.equal((await post(FILE + field('model', 'gpt-y') + END, path)).status, 403)
      assert.equal((await post(field('n', '9') + field('model', 'gpt-x') + END, path)).status, 403)
      assert.equal((await post(FILE + END, path)).status, 400)
      assert.equal(one.arrived.length, 0)
    }
    // Files may contain requests for any model.
    assert.equal((await post(field('model', 'gpt-x') + FILE + END, '/v1/files')).status, 403)
  })

  it('are rejected in the format of OpenAI if they are ambiguous', async () => {
    await serveBackend(RULES)
    const forms = [
      field('model', 'gpt-x') + field('model', 'gpt-y') + END,
      field('model', 'gpt-x') + field('model', 'gpt-y', '; filename="a"') + END,
      `--xYz\r\n${field('model', 'gpt-x')}${END}`,
      field('model', 'gpt-x'),
    ]
    for (const form of forms) {
      const { status, text } = await post(form)
      assert.equal(status, 400, text)
      const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> }
      assert.equal(error.code, 'invalid_form')
      assert.equal(error.type, 'invalid_request_error')
    }
    const json = '{"model":"gpt-x","a":"&model=gpt-y&"}'
    assert.equal((await post(json)).status, 400)
    assert.equal(one.arrived.length, 0)
    // A body that the gateway read as JSON reaches the provider as JSON.
    const type = 'application/x-www-form-urlencoded'
    await post(json, TRANSCRIPTIONS, { 'content-type': type })
    assert.equal(one.arrived[0]?.headers['content-type'], 'application/json')
  })

  it('that are too long are rejected with 413', async () => {
    await serveBackend(RULES)
    const long = field('file', 'x'.repeat(2 ** 25), '; filename="a"')
    const { status, text } = await post(field('model', 'gpt-x') + long + END)
    assert.equal(status, 413)
    assert.ok((JSON.parse(text) as { readonly error: unknown }).error)
    assert.equal(one.arrived.length, 0)
  })

  it('pass unchanged if no rule reads the model', async () => {
    await serveBackend({})
    const odd = `hello\r\n${field('model', 'gpt-x')}${field('model', 'gpt-y')}`
    await post(odd)
    assert.equal(one.arrived[0]?.body, odd)
  })

  it('name the model that the configuration or the path sets', async () => {
    await serveBackend(RULES, { model: 'real' })
    await post(FILE + field('model', 'gpt-x') + END)
    assert.equal(one.arrived.splice(0)[0]?.body, FILE + field('model', 'real') + END)
    await serveBackend(RULES)
    const path = '/openai/deployments/gpt-x/audio/transcriptions'
    await post(FILE + END, path)
    await post(FILE + field('model', 'gpt-y') + END, path)
    const bodies = one.arrived.splice(0).map(({ body }) => body)
    assert.deepEqual(bodies, [
      field('model', 'gpt-x') + FILE + END,
      FILE + field('model', 'gpt-x') + END,
    ])
    const denied = '/openai/deployments/gpt-y/audio/transcriptions'
    assert.equal((await post(FILE + field('model', 'gpt-x') + END, denied)).status, 403)
  })

  it('are rejected if guards would have to read them', async () => {
    const guards = { guardrails: { request: [{ regex: { rules: [{ builtin: 'email' }] } }] } }
    await serveBackend({ ...RULES, ...guards })
    assert.equal((await post(FILE + field('model', 'gpt-x') + END)).status, 400)
    assert.equal(one.arrived.length, 0)
  })

  it('may arrive byte by byte', async () => {
    await serveBackend(RULES)
    const send = async (form: string) => {
      const head = `POST ${TRANSCRIPTIONS} HTTP/1.1\r\nhost: a\r\ncontent-type: ${TYPE}\r\ncontent-length: ${form.length}\r\nconnection: close\r\n\r\n`
      const socket = connect(port, '127.0.0.1').setNoDelay(true)
      let text = ''
      socket.on('data', (bytes) => {
        text += bytes
      })
      socket.write(head)
      for (const byte of Buffer.from(form, 'latin1')) {
        socket.write(Uint8Array.of(byte))
        await new Promise((done) => setImmediate(done))
      }
      await new Promise((done) => socket.once('close', done))
      return text
    }
    const form = FILE + field('model', 'gpt-x') + END
    assert.match(await send(form), /^HTTP\/1\.1 200 /)
    assert.equal(one.arrived[0]?.body, form)
    assert.match(await send(FILE + field('model', 'gpt-y') + END), /^HTTP\/1\.1 403 /)
  })

  describe('of the SDK', () => {
    const client = (apiKey = 'sk-any') =>
      new OpenAI({ apiKey, baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 })
    const sound = () => toFile(Buffer.from('RIFF\r\n'), 'Grüße "1".wav')
    const picture = (name: string) => toFile(Buffer.from('PNG'), name, { type: 'image/png' })

    it('are routed by their model, for keys that may use it, within budgets', async () => {
      const params = ({ port }: Provider, more = {}) => ({
        apiKey: 'sk-provider',
        hostOverride: `127.0.0.1:${port}`,
        ...more,
      })
      const keys = [
        { key: 'team-a', allowedModels: ['a'], metadata: { team: 'a' } },
        { key: 'team-b', metadata: { team: 'b' } },
      ]
      await serve({
        llm: {
          port,
          policies: {
            apiKey: { keys },
            budgets: [{ requests: 3, per: 'Month', key: 'apiKey.team' }],
          },
          models: [
            { name: 'a', provider: 'openAI', params: params(one) },
            { name: 'b', provider: 'openAI', params: params(two, { model: 'real-b' }) },
          ],
        },
      })
      const transcribe = async (key: string, model: string) =>
        client(key).audio.transcriptions.create({ file: await sound(), model, temperature: 0.5 })
      assert.equal((await transcribe('team-a', 'a')).text, 'hello')
      assert.match(one.arrived[0]?.body ?? '', /name="model"\r\n\r\na\r\n/)
      await assert.rejects(transcribe('team-a', 'b'), OpenAI.PermissionDeniedError)
      await assert.rejects(transcribe('team-b', 'c'), OpenAI.NotFoundError)
      await transcribe('team-b', 'b')
      assert.match(two.arrived[0]?.body ?? '', /name="model"\r\n\r\nreal-b\r\n/)
      const image = [await picture('a.png'), await picture('b.png')]
      await client('team-b').images.edit({ image, prompt: 'a cat', model: 'b', n: 2 })
      assert.equal(two.arrived[1]?.url, '/v1/images/edits')
      await client('team-b').audio.translations.create({ file: await sound(), model: 'b' })
      await assert.rejects(transcribe('team-b', 'b'), OpenAI.RateLimitError)
      assert.equal(two.arrived.length, 3)
    })

    it('are counted by requests, and denied if tokens are counted', async () => {
      const limit = (type: string) => ({
        localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', type }],
      })
      const edit = async () =>
        client().images.edit({ image: await picture('a.png'), prompt: 'a cat', model: 'gpt-x' })
      await serveBackend(RULES, {}, limit('requests'))
      await edit()
      await assert.rejects(edit(), OpenAI.RateLimitError)
      await serveBackend(RULES, {}, limit('tokens'))
      await assert.rejects(edit(), OpenAI.PermissionDeniedError)
      assert.equal(one.arrived.length, 1)
    })
  })
})
