import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import { ScriptedServices } from '../../test/program/scripted-services.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { azureIdentity } from './azure-identity.ts'
import { openAzureTokens } from './azure-tokens.ts'
import type { Environment } from './credential-source.ts'

const COGNITIVE = 'https://cognitiveservices.azure.com'
const SECRET = { tenantId: 't', clientId: 'c', clientSecret: ' s ' }
const MACHINE = { explicitConfig: { managedIdentity: {} } }
const HOSTED = { IDENTITY_ENDPOINT: 'http://127.0.0.1:41/msi/token', IDENTITY_HEADER: 'the-header' }
const HOUR = 3_600_000

describe('Microsoft Entra ID tokens', () => {
  let services: ScriptedServices
  let count = 0
  let reply: object = {}

  beforeEach(() => {
    count = 0
    reply = { expires_in: 3_600 }
  })

  function open(written: object, environment: Environment = {}) {
    services = new ScriptedServices({ environment })
    services.respondWith = () => ({
      body: JSON.stringify({ access_token: `token-${++count}`, ...reply }),
    })
    return openAzureTokens(azureIdentity().parse(written), {} as ValidPolicy, services.context)
  }

  const to = (host: string) => Object.assign(exchangeOf(), { providerHost: host })
  const find = async (written: object, environment?: Environment, host = 'x.openai.azure.com') =>
    open(written, environment)(to(host))
  const asked = () => {
    const [{ origin, method, path, headers, body } = assert.fail()] = services.arrived
    const { host, port } = JSON.parse(origin)
    const [pathname, query = ''] = path.split('?')
    const parameters = Object.fromEntries(new URLSearchParams(method === 'GET' ? query : body))
    return { from: `${method} ${host}:${port}${pathname}`, headers, parameters }
  }

  const users = [
    [{ clientId: 'x' }, 'client_id', 'client_id'],
    [{ objectId: 'x' }, 'object_id', 'object_id'],
    [{ resourceId: 'x' }, 'msi_res_id', 'mi_res_id'],
  ] as const
  for (const [user, onMachine, whenHosted] of users) {
    const written = { explicitConfig: { managedIdentity: { userAssignedIdentity: user } } }

    it(`${onMachine} selects an identity of a virtual machine`, async () => {
      assert.equal(await find(written), 'token-1')
      assert.deepEqual(asked(), {
        from: 'GET 169.254.169.254:80/metadata/identity/oauth2/token',
        headers: { metadata: 'true' },
        parameters: { 'api-version': '2018-02-01', resource: COGNITIVE, [onMachine]: 'x' },
      })
    })

    it(`${whenHosted} selects an identity of an App Service`, async () => {
      assert.equal(await find(written, HOSTED), 'token-1')
      assert.deepEqual(asked(), {
        from: 'GET 127.0.0.1:41/msi/token',
        headers: { 'x-identity-header': 'the-header' },
        parameters: { 'api-version': '2019-08-01', resource: COGNITIVE, [whenHosted]: 'x' },
      })
    })
  }

  for (const [what, environment, from] of [
    ['its own endpoint', { AZURE_POD_IDENTITY_AUTHORITY_HOST: 'http://10.0.0.1:8' }, '10.0.0.1:8'],
    ['no endpoint', {}, '169.254.169.254:80'],
    ['an endpoint without a header', { IDENTITY_ENDPOINT: 'http://a:1/' }, '169.254.169.254:80'],
    ['a header without an endpoint', { IDENTITY_HEADER: 'h' }, '169.254.169.254:80'],
    ['an invalid endpoint', { ...HOSTED, IDENTITY_ENDPOINT: 'x' }, '169.254.169.254:80'],
    ['an invalid pod endpoint', { AZURE_POD_IDENTITY_AUTHORITY_HOST: 'x' }, '169.254.169.254:80'],
  ] as const) {
    it(`a machine with ${what} in the environment gets its token from ${from}`, async () => {
      assert.equal(await find(MACHINE, environment), 'token-1')
      assert.equal(asked().from, `GET ${from}/metadata/identity/oauth2/token`)
      assert.deepEqual(asked().headers, { metadata: 'true' })
    })
  }

  const ALL = { AZURE_TENANT_ID: 'et', AZURE_CLIENT_ID: 'ec', AZURE_CLIENT_SECRET: 'es' }
  const { AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET } = ALL
  const METADATA = 'GET 169.254.169.254:80/metadata/identity/oauth2/token'
  const LOGIN = 'POST login.microsoftonline.com:443/et/oauth2/v2.0/token'
  for (const [what, environment, from, parameters] of [
    ['a secret', ALL, LOGIN, { client_id: 'ec', client_secret: 'es' }],
    ['no secret', { AZURE_TENANT_ID, AZURE_CLIENT_ID }, METADATA, { client_id: 'ec' }],
    ['no tenant', { AZURE_CLIENT_ID, AZURE_CLIENT_SECRET }, METADATA, { client_id: 'ec' }],
    ['no client', { AZURE_TENANT_ID, AZURE_CLIENT_SECRET }, METADATA, {}],
    ['nothing', {}, METADATA, {}],
  ] as const) {
    it(`implicit: ${what} in the environment`, async () => {
      assert.equal(await find({ implicit: {} }, environment), 'token-1')
      assert.equal(asked().from, from)
      const usual =
        from === METADATA
          ? { 'api-version': '2018-02-01', resource: COGNITIVE }
          : { grant_type: 'client_credentials', scope: `${COGNITIVE}/.default` }
      assert.deepEqual(asked().parameters, { ...usual, ...parameters })
    })
  }

  it('the token of a pod is read anew for each request, and takes the place of a machine', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'azure-'))
    try {
      const file = join(folder, 'token')
      const environment = { AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_FEDERATED_TOKEN_FILE: file }
      for (const [text, expected] of [
        ['first\n', 'first'],
        ['second', 'second'],
      ] as const) {
        writeFileSync(file, text)
        await find({ implicit: {} }, environment)
        assert.equal(asked().from, LOGIN)
        assert.equal(asked().parameters['client_assertion'], expected)
      }
      for (const text of ['', ' \n']) {
        writeFileSync(file, text)
        assert.deepEqual(await find({ explicitConfig: { workloadIdentity: {} } }, environment), {
          detail: 'the federated token cannot be read',
        })
      }
      const { [`AZURE_TENANT_ID`]: _, ...noTenant } = environment
      const { [`AZURE_CLIENT_ID`]: __, ...noClient } = environment
      for (const fewer of [noTenant, noClient, { AZURE_TENANT_ID, AZURE_CLIENT_ID }]) {
        assert.deepEqual(await find({ explicitConfig: { workloadIdentity: {} } }, fewer), {
          detail: 'AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE are not all set',
        })
        assert.equal(services.arrived.length, 0)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  for (const [authority, expected] of [
    ['https://login.example//', { from: 'POST login.example:443/t%2F/oauth2/v2.0/token' }],
    ['nonsense', undefined],
  ] as const) {
    it(`a secret is sent to the authority ${authority}`, async () => {
      const written = { explicitConfig: { clientSecret: { ...SECRET, tenantId: 't/' } } }
      const found = await find(written, { AZURE_AUTHORITY_HOST: authority })
      if (expected === undefined) {
        assert.deepEqual(found, { detail: 'AZURE_AUTHORITY_HOST is not a URL' })
        return
      }
      assert.equal(asked().from, expected.from)
      assert.equal(asked().parameters['client_secret'], 's')
    })
  }

  for (const [host, scope] of [
    ['res.services.ai.azure.com', 'https://ai.azure.com/.default'],
    ['res.openai.azure.com', `${COGNITIVE}/.default`],
    ['services.ai.azure.com.attacker.example', `${COGNITIVE}/.default`],
  ] as const) {
    it(`the scope for ${host} is ${scope}, unless it is configured`, async () => {
      const written = { explicitConfig: { clientSecret: SECRET } }
      await find(written, {}, host)
      assert.equal(asked().parameters['scope'], scope)
      await find({ ...written, scope: 'api://own/.default' }, {}, host)
      assert.equal(asked().parameters['scope'], 'api://own/.default')
      await find({ ...MACHINE, scope: 'api://own/.default' }, {}, host)
      assert.equal(asked().parameters['resource'], 'api://own')
    })
  }

  for (const [expiresIn, until] of [
    [3_600, HOUR - 300_000],
    ['3600', HOUR - 300_000],
    // At most half of a short lifetime.
    [60, 30_000],
    [0, 30_000],
    [-5, 30_000],
    ['soon', 30_000],
    [undefined, 30_000],
  ] as const) {
    it(`a token with expires_in ${JSON.stringify(expiresIn)} is sent for ${until} ms`, async () => {
      reply = { expires_in: expiresIn }
      const token = open(MACHINE)
      assert.equal(await token(to('h')), 'token-1')
      services.time = until - 1
      assert.equal(await token(to('h')), 'token-1')
      services.time = until
      assert.equal(await token(to('h')), 'token-2')
    })
  }

  it('tokens of different scopes are kept apart, and concurrent calls share one request', async () => {
    const token = open(MACHINE)
    const hosts = ['a.services.ai.azure.com', 'b.services.ai.azure.com', 'a.openai.azure.com']
    const all = await Promise.all(hosts.map((host) => token(to(host))))
    assert.deepEqual(all, ['token-1', 'token-1', 'token-2'])
  })

  for (const [what, response, detail] of [
    ['no response', { failure: 'timeout' }, 'azure token: timeout'],
    ['another status', { status: 400, body: '{"access_token":"x"}' }, 'azure token: status 400'],
    ['no JSON', { body: 'x' }, 'azure token: the response is not JSON'],
    ['null', { body: 'null' }, 'azure token: the response contains no token'],
    ['no token', { body: '{}' }, 'azure token: the response contains no token'],
    ['a number', { body: '{"access_token":7}' }, 'azure token: the response contains no token'],
    [
      'two lines',
      { body: '{"access_token":"a\\nb"}' },
      'azure token: the response contains no token',
    ],
  ] as const) {
    it(`${what} in place of a token: no token for a second, then another attempt`, async () => {
      const token = open(MACHINE)
      services.respondWith = () => response
      assert.deepEqual(await token(to('h')), { detail })
      services.time = 999
      assert.deepEqual(await token(to('h')), { detail })
      assert.equal(services.arrived.length, 1)
      services.respondWith = () => ({ body: '{"access_token":"good"}' })
      services.time = 1_000
      assert.equal(await token(to('h')), 'good')
    })
  }

  it('requests have a limit in time and size', async () => {
    await find(MACHINE)
    const [{ timeout, maxBytes } = assert.fail()] = services.arrived
    assert.deepEqual([timeout, maxBytes], [10_000, 65_536])
  })
})
