import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Provider, startProvider } from './providers.ts'

const NAMES = [
  'AZURE_TENANT_ID',
  'AZURE_CLIENT_ID',
  'AZURE_CLIENT_SECRET',
  'AZURE_FEDERATED_TOKEN_FILE',
  'AZURE_AUTHORITY_HOST',
  'AZURE_POD_IDENTITY_AUTHORITY_HOST',
  'IDENTITY_ENDPOINT',
  'IDENTITY_HEADER',
]
const COMPLETION = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const COGNITIVE = 'https://cognitiveservices.azure.com/.default'
const SECRET = { tenantId: 'the-tenant', clientId: 'the-client', clientSecret: 'the-secret' }

/** Microsoft's endpoints as documented, over real sockets. */
describe('Microsoft Entra ID tokens', () => {
  const folder = mkdtempSync(join(tmpdir(), 'azure-tokens-'))
  const before_ = new Map(NAMES.map((name) => [name, process.env[name]]))
  let entra: Provider
  let model: Provider
  let port = 0
  let running: Deciding | undefined
  let count = 0
  let life: number | string = 3600

  before(async () => {
    entra = await startProvider('entra')
    model = await startProvider('azure')
    model.respondWith = (_, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(COMPLETION)
    }
    port = await freePort()
  })
  after(async () => {
    await running?.stop()
    await entra.close()
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    for (const name of NAMES) delete process.env[name]
    process.env['AZURE_AUTHORITY_HOST'] = `http://127.0.0.1:${entra.port}/`
    process.env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] = `http://127.0.0.1:${entra.port}`
    entra.arrived.length = 0
    model.arrived.length = 0
    life = 3600
    entra.respondWith = (_, response) => {
      const said = { token_type: 'Bearer', expires_in: life, access_token: `token-${++count}` }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(said))
    }
  })
  afterEach(() => {
    for (const [name, value] of before_) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })

  /** Restarts the gateway, because a policy of an earlier test would keep its tokens. */
  async function serve(azure: object, more: object = {}): Promise<void> {
    await running?.stop()
    const provider = { azure: { resourceName: 'res', resourceType: 'openAI', model: 'gpt-x' } }
    running = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        routes: [
          {
            backends: [
              {
                ai: { name: 'azure', provider, hostOverride: `127.0.0.1:${model.port}` },
                policies: { backendAuth: { azure, ...more } },
              },
            ],
          },
        ],
      }),
      'json',
    )
  }

  async function call(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer of-the-client', 'api-key': 'of-the-client' },
      body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'hello' }] }),
    })
    await response.text()
    return response.status
  }

  const sent = () => model.arrived.at(-1)?.headers ?? assert.fail()
  const form = () => Object.fromEntries(new URLSearchParams(entra.arrived[0]?.body ?? ''))
  const query = () => {
    const { pathname, searchParams } = new URL(`http://x${entra.arrived[0]?.url}`)
    return { pathname, ...Object.fromEntries(searchParams) }
  }

  for (const [spelling, clientSecret] of [
    ['as here', SECRET],
    [
      'as agentgateway has it',
      { tenant_id: 'the-tenant', client_id: 'the-client', client_secret: 'the-secret' },
    ],
  ] as const) {
    it(`a client secret, spelled ${spelling}: one request for many calls`, async () => {
      await serve({ explicitConfig: { clientSecret } })
      assert.deepEqual([await call(), await call(), await call()], [200, 200, 200])
      assert.equal(entra.arrived.length, 1)
      assert.equal(entra.arrived[0]?.url, '/the-tenant/oauth2/v2.0/token')
      assert.deepEqual(form(), {
        grant_type: 'client_credentials',
        client_id: 'the-client',
        client_secret: 'the-secret',
        scope: COGNITIVE,
      })
      assert.equal(sent()['authorization'], `Bearer token-${count}`)
      assert.equal(sent()['api-key'], undefined)
    })
  }

  it('a token that is about to expire is replaced', async () => {
    life = 0.2
    await serve({ explicitConfig: { clientSecret: SECRET } })
    await call()
    const first = sent()['authorization']
    await new Promise((resolve) => setTimeout(resolve, 250))
    await call()
    assert.equal(entra.arrived.length, 2)
    assert.notEqual(sent()['authorization'], first)
  })

  it('concurrent calls share one request', async () => {
    await serve({ explicitConfig: { clientSecret: SECRET } })
    assert.deepEqual(await Promise.all([call(), call(), call(), call()]), [200, 200, 200, 200])
    assert.equal(entra.arrived.length, 1)
  })

  it('the identity of a machine, and one of several', async () => {
    life = '3600'
    await serve({ explicitConfig: { managedIdentity: {} } })
    assert.equal(await call(), 200)
    assert.equal(entra.arrived[0]?.headers['metadata'], 'true')
    const usual = {
      pathname: '/metadata/identity/oauth2/token',
      'api-version': '2018-02-01',
      resource: 'https://cognitiveservices.azure.com',
    }
    assert.deepEqual(query(), usual)
    for (const [user, parameter] of [
      [{ clientId: 'c' }, { client_id: 'c' }],
      [{ objectId: 'o' }, { object_id: 'o' }],
      [{ resourceId: '/r' }, { msi_res_id: '/r' }],
    ] as const) {
      entra.arrived.length = 0
      await serve({ explicitConfig: { managedIdentity: { userAssignedIdentity: user } } })
      assert.equal(await call(), 200)
      assert.deepEqual(query(), { ...usual, ...parameter })
    }
  })

  it('the identity of an App Service', async () => {
    process.env['IDENTITY_ENDPOINT'] = `http://127.0.0.1:${entra.port}/msi/token`
    process.env['IDENTITY_HEADER'] = 'the-header'
    await serve({ implicit: {} })
    assert.equal(await call(), 200)
    assert.equal(entra.arrived[0]?.headers['x-identity-header'], 'the-header')
    assert.equal(query().pathname, '/msi/token')
  })

  it('the identity of a pod, with the current content of its file', async () => {
    const file = join(folder, 'token')
    writeFileSync(file, 'of-kubernetes\n')
    process.env['AZURE_TENANT_ID'] = 'the-tenant'
    process.env['AZURE_CLIENT_ID'] = 'the-client'
    process.env['AZURE_FEDERATED_TOKEN_FILE'] = file
    for (const identity of [{ explicitConfig: { workloadIdentity: {} } }, { implicit: {} }]) {
      entra.arrived.length = 0
      await serve(identity, {})
      assert.equal(await call(), 200)
      assert.deepEqual(form(), {
        grant_type: 'client_credentials',
        client_id: 'the-client',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: 'of-kubernetes',
        scope: COGNITIVE,
      })
    }
  })

  it('implicit: a secret in the environment takes precedence; a custom scope', async () => {
    process.env['AZURE_TENANT_ID'] = 'the-tenant'
    process.env['AZURE_CLIENT_ID'] = 'the-client'
    process.env['AZURE_CLIENT_SECRET'] = 'of-the-environment'
    await serve({ implicit: {}, scope: 'api://own/.default' })
    assert.equal(await call(), 200)
    assert.equal(form()['client_secret'], 'of-the-environment')
    assert.equal(form()['scope'], 'api://own/.default')
  })

  for (const [what, reply] of [
    ['an error', { status: 401, body: '{"error":"invalid_client"}' }],
    ['no JSON', { status: 200, body: 'hello' }],
    ['null', { status: 200, body: 'null' }],
    ['no token', { status: 200, body: '{"expires_in":3600}' }],
    ['a token that is no header', { status: 200, body: '{"access_token":"a\\r\\nb"}' }],
  ] as const) {
    it(`${what} in place of a token: 503, and nothing reaches the provider`, async () => {
      entra.respondWith = (_, response) => {
        response.writeHead(reply.status).end(reply.body)
      }
      await serve({ explicitConfig: { clientSecret: SECRET } })
      assert.deepEqual([await call(), await call()], [503, 503])
      assert.equal(model.arrived.length, 0)
      assert.equal(entra.arrived.length, 1, 'a flood of calls is no flood of requests for tokens')
    })
  }

  it('a pod without its variables: 503, and nothing reaches the provider', async () => {
    await serve({ explicitConfig: { workloadIdentity: {} } })
    assert.equal(await call(), 503)
    assert.equal(model.arrived.length + entra.arrived.length, 0)
  })

  it('the secret never appears in the log', async () => {
    await serve({ explicitConfig: { clientSecret: SECRET } })
    await call()
    assert.ok(!running?.lines.join('').includes('the-secret'))
  })
})
