import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import { ScriptedServices } from '../../test/program/scripted-services.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { openAwsCredentials } from './aws-credentials.ts'
import type { Environment } from './credential-source.ts'

const DATE = Date.parse('2026-01-01T00:00:00Z')
const KEYS = { AccessKeyId: 'id', SecretAccessKey: 'key' }
const FOUND = { accessKeyId: 'id', secretAccessKey: 'key', sessionToken: 'token' }
const MACHINE = 'http 169.254.169.254:80'

describe('AWS credentials', () => {
  const folder = mkdtempSync(join(tmpdir(), 'aws-'))
  after(() => rmSync(folder, { recursive: true }))
  const fileOf = (text: string) => {
    const file = join(folder, 'token')
    writeFileSync(file, text)
    return file
  }

  let services = new ScriptedServices()
  let end: unknown
  let responses: Readonly<Record<string, { readonly status?: number; readonly body?: string }>> = {}

  function open(environment: Environment) {
    services = new ScriptedServices({ environment, date: () => DATE + services.time })
    const whole = { ...KEYS, Token: 'token', ...(end === undefined ? {} : { Expiration: end }) }
    const { Token: SessionToken, ...rest } = whole
    const Credentials = { ...rest, SessionToken }
    const usual: typeof responses = {
      '/latest/api/token': { body: 'of-the-machine\n' },
      '/latest/meta-data/iam/security-credentials/': { body: 'role\nother' },
      '/': {
        body: JSON.stringify({
          AssumeRoleWithWebIdentityResponse: { AssumeRoleWithWebIdentityResult: { Credentials } },
        }),
      },
    }
    services.respondWith = ({ path }) =>
      responses[path] ?? usual[path] ?? { body: JSON.stringify(whole) }
    const find = openAwsCredentials({} as ValidPolicy, services.context)
    return () => find(exchangeOf())
  }

  async function found(environment: Environment, own: typeof responses = {}) {
    responses = own
    end = undefined
    return open(environment)()
  }
  const calls = () =>
    services.arrived.map(({ method, origin, path }) => {
      const { scheme = 'http', host, port } = JSON.parse(origin)
      return `${method} ${scheme} ${host}:${port}${path}`
    })

  it('in the environment are used as they are', async () => {
    const env = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }
    assert.deepEqual(await found(env), { accessKeyId: 'a', secretAccessKey: 'b' })
    assert.deepEqual(await found({ ...env, AWS_SESSION_TOKEN: 'c' }), {
      accessKeyId: 'a',
      secretAccessKey: 'b',
      sessionToken: 'c',
    })
    assert.deepEqual(await found({ ...env, AWS_SESSION_TOKEN: '' }), {
      accessKeyId: 'a',
      secretAccessKey: 'b',
    })
    assert.deepEqual(calls(), [])
    for (const half of [
      { ...env, AWS_ACCESS_KEY_ID: '' },
      { ...env, AWS_SECRET_ACCESS_KEY: '' },
    ]) {
      assert.deepEqual(await found(half), FOUND, 'those of the machine')
    }
  })

  for (const [what, env, origin] of [
    ['no region', {}, 'https sts.amazonaws.com:443'],
    [
      'a region',
      { AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'x' },
      'https sts.eu-west-1.amazonaws.com:443',
    ],
    [
      'a default region',
      { AWS_DEFAULT_REGION: 'eu-west-1' },
      'https sts.eu-west-1.amazonaws.com:443',
    ],
    [
      'an endpoint',
      { AWS_ENDPOINT_URL_STS: 'http://127.0.0.1:8//', AWS_REGION: 'x' },
      'http 127.0.0.1:8',
    ],
  ] as const) {
    it(`of a role for a web identity, with ${what}`, async () => {
      const file = fileOf(' the-token\n')
      const role = { AWS_ROLE_ARN: 'arn', AWS_WEB_IDENTITY_TOKEN_FILE: file }
      assert.deepEqual(await found({ ...role, ...env }), FOUND)
      assert.deepEqual(calls(), [`POST ${origin}/`])
      assert.deepEqual(Object.fromEntries(new URLSearchParams(services.arrived[0]?.body)), {
        Action: 'AssumeRoleWithWebIdentity',
        Version: '2011-06-15',
        RoleArn: 'arn',
        RoleSessionName: 'portcullis',
        WebIdentityToken: 'the-token',
      })
    })
  }

  it('of a role need a token that can be read', async () => {
    const env = { AWS_ROLE_ARN: 'arn', AWS_WEB_IDENTITY_TOKEN_FILE: fileOf('\n') }
    assert.deepEqual(await found(env), {
      detail: 'aws credentials: the web identity token cannot be read',
    })
    assert.deepEqual(calls(), [])
    await found({ ...env, AWS_ROLE_SESSION_NAME: 'own', AWS_WEB_IDENTITY_TOKEN_FILE: fileOf('t') })
    assert.match(services.arrived[0]?.body ?? '', /RoleSessionName=own/)
    for (const half of [{ AWS_ROLE_ARN: 'arn' }, { AWS_WEB_IDENTITY_TOKEN_FILE: fileOf('t') }]) {
      await found(half)
      assert.equal(calls().length, 3, 'those of the machine')
    }
  })

  for (const [env, call] of [
    [{ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/a?b' }, 'GET http 169.254.170.2:80/a?b'],
    [
      {
        AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/a',
        AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://localhost:1/',
      },
      'GET http 169.254.170.2:80/a',
    ],
    [
      { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1' },
      'GET http 169.254.170.23:80/v1',
    ],
    [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://localhost:1/c' }, 'GET http localhost:1/c'],
    [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://[::1]:1/c' }, 'GET http ::1:1/c'],
    [
      { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'https://any.example/c' },
      'GET https any.example:443/c',
    ],
    [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://any.example/c' }, undefined],
    [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'nonsense' }, undefined],
  ] as const) {
    it(`of a container at ${Object.values(env)[0]}: ${call ?? 'not called'}`, async () => {
      const all = await found({ ...env, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'auth' })
      assert.deepEqual(calls(), call === undefined ? [] : [call])
      if (call !== undefined) {
        assert.deepEqual(all, FOUND)
        assert.equal(services.arrived[0]?.headers['authorization'], 'auth')
      } else {
        const detail = 'aws credentials: the container credentials URL is invalid or not allowed'
        assert.deepEqual(all, { detail })
      }
    })
  }

  it('of a container: the token in a file takes precedence, and none is needed', async () => {
    const env = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/a' }
    const file = fileOf(' from-file\n')
    await found({
      ...env,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'x',
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    })
    assert.deepEqual(services.arrived[0]?.headers, { authorization: 'from-file' })
    await found(env)
    assert.deepEqual(services.arrived[0]?.headers, {})
  })

  it('of a machine: first a token, then the name of the role', async () => {
    assert.deepEqual(await found({}), FOUND)
    const roles = `GET ${MACHINE}/latest/meta-data/iam/security-credentials/`
    assert.deepEqual(calls(), [`PUT ${MACHINE}/latest/api/token`, roles, `${roles}role`])
    const token = { 'x-aws-ec2-metadata-token': 'of-the-machine' }
    assert.deepEqual(
      services.arrived.map(({ headers }) => headers),
      [{ 'x-aws-ec2-metadata-token-ttl-seconds': '300' }, token, token],
    )
    await found({ AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:9//' })
    assert.equal(calls()[0], 'PUT http 127.0.0.1:9/latest/api/token')
  })

  const NONE = 'aws credentials: the response contains no credentials'
  const CREDENTIALS = '/latest/meta-data/iam/security-credentials/role'
  const ROLES = '/latest/meta-data/iam/security-credentials/'
  for (const [what, env, own, detail, count] of [
    [
      'that is switched off',
      { AWS_EC2_METADATA_DISABLED: 'TRUE' },
      {},
      'aws credentials: not found in the environment',
      0,
    ],
    ['that is not switched off', { AWS_EC2_METADATA_DISABLED: 'no' }, {}, undefined, 3],
    [
      'without a token',
      {},
      { '/latest/api/token': { status: 403 } },
      'aws credentials: status 403',
      1,
    ],
    ['without a list of roles', {}, { [ROLES]: { status: 404 } }, 'aws credentials: status 404', 2],
    [
      'without a role',
      {},
      { [ROLES]: { body: '\n' } },
      'aws credentials: the instance has no IAM role',
      2,
    ],
    [
      'with an invalid role',
      {},
      { [ROLES]: { body: '../x' } },
      'aws credentials: the instance has no IAM role',
      2,
    ],
    [
      'with a role of 129 characters',
      {},
      { [ROLES]: { body: 'x'.repeat(129) } },
      'aws credentials: the instance has no IAM role',
      2,
    ],
    ['that denies them', {}, { [CREDENTIALS]: { status: 500 } }, 'aws credentials: status 500', 3],
    ['that sends a text', {}, { [CREDENTIALS]: { body: 'x' } }, NONE, 3],
    ['that sends null', {}, { [CREDENTIALS]: { body: 'null' } }, NONE, 3],
    [
      'that sends no ID',
      {},
      { [CREDENTIALS]: { body: '{"SecretAccessKey":"k","Token":"t"}' } },
      NONE,
      3,
    ],
    [
      'that sends no key',
      {},
      { [CREDENTIALS]: { body: '{"AccessKeyId":"k","Token":"t"}' } },
      NONE,
      3,
    ],
    ['that sends no session', {}, { [CREDENTIALS]: { body: JSON.stringify(KEYS) } }, NONE, 3],
  ] as const) {
    it(`of a machine ${what}: ${detail ?? 'found'}`, async () => {
      assert.deepEqual(await found(env, own), detail === undefined ? FOUND : { detail })
      assert.equal(services.arrived.length, count)
    })
  }

  for (const [expiration, until] of [
    ['2026-01-01T01:00:00Z', 3_300_000],
    [DATE / 1_000 + 3_600, 3_300_000],
    ['2026-01-01T00:01:00Z', 30_000],
    ['soon', 30_000],
    [undefined, 30_000],
    ['2025-12-31T00:00:00Z', 0],
  ] as const) {
    it(`that expire at ${expiration ?? 'an unknown time'} are used for ${until} ms`, async () => {
      responses = {}
      end = expiration
      const find = open({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/a' })
      await find()
      services.time = Math.max(0, until - 1)
      await find()
      assert.equal(services.arrived.length, until === 0 ? 2 : 1)
      services.time = until
      const before = services.arrived.length
      await find()
      assert.equal(services.arrived.length, before + 1)
    })
  }
})
