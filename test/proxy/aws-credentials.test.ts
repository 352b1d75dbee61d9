import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { SignatureV4 } from '@smithy/signature-v4'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Provider, startProvider } from './providers.ts'

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

interface Keys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Signs the received request again with AWS's SDK, using the headers that it lists as signed. */
async function isSignedBy(keys: Keys, { method, url, headers, body }: Provider['arrived'][number]) {
  const time = String(headers['x-amz-date'])
  const at = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(String(headers.authorization)) ?? []
  const given = names.split(';').filter((name) => !name.startsWith('x-amz-'))
  const signer = new SignatureV4({
    service: 'bedrock',
    region: 'eu-central-1',
    credentials: keys,
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
      headers: Object.fromEntries(given.map((name) => [name, String(headers[name])])),
      body: Buffer.from(body, 'latin1'),
    } as never,
    { signingDate: new Date(at) },
  )) as unknown as { readonly headers: Readonly<Record<string, string>> }
  return signed.headers['authorization'] === headers.authorization
}

const NAMES = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_ENDPOINT_URL_STS',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_EC2_METADATA_SERVICE_ENDPOINT',
  'AWS_EC2_METADATA_DISABLED',
]
const KEYS = { accessKeyId: 'ASIAFETCHED', secretAccessKey: 'fetched/+key', sessionToken: 'token' }
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const SAID = () => ({
  Code: 'Success',
  AccessKeyId: KEYS.accessKeyId,
  SecretAccessKey: KEYS.secretAccessKey,
  Token: KEYS.sessionToken,
  Expiration: inAnHour(),
})

describe('AWS credentials from the environment', () => {
  const folder = mkdtempSync(join(tmpdir(), 'aws-credentials-'))
  const saved = new Map(NAMES.map((name) => [name, process.env[name]]))
  let aws: Provider
  let bedrock: Provider
  let port = 0
  let running: Deciding | undefined

  before(async () => {
    aws = await startProvider('aws')
    bedrock = await startProvider('bedrock')
    port = await freePort()
  })
  after(async () => {
    await running?.stop()
    await aws.close()
    await bedrock.close()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    for (const name of NAMES) delete process.env[name]
    process.env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] = `http://127.0.0.1:${aws.port}/`
    aws.arrived.length = 0
    bedrock.arrived.length = 0
    bedrock.respondWith = (_, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          output: { message: { role: 'assistant', content: [{ text: 'hi' }] } },
          stopReason: 'end_turn',
          usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
        }),
      )
    }
  })
  afterEach(() => {
    for (const [name, value] of saved) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })

  async function serve(more: object = {}): Promise<void> {
    await running?.stop()
    running = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        llm: {
          models: [
            {
              name: 'claude',
              provider: 'bedrock',
              auth: { aws: {} },
              params: {
                model: 'm',
                awsRegion: 'eu-central-1',
                hostOverride: `127.0.0.1:${bedrock.port}`,
              },
            },
          ],
          ...more,
        },
      }),
      'json',
    )
  }

  async function call(content = 'hello') {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'claude', messages: [{ role: 'user', content }] }),
    })
    return { status: response.status, text: await response.text() }
  }

  const sent = () => bedrock.arrived.at(-1) ?? assert.fail('nothing was sent')

  it('variables, with and without a session', async () => {
    process.env['AWS_ACCESS_KEY_ID'] = 'AKIDVARIABLE'
    process.env['AWS_SECRET_ACCESS_KEY'] = 'of-a-variable'
    await serve()
    assert.equal((await call()).status, 200)
    const keys = { accessKeyId: 'AKIDVARIABLE', secretAccessKey: 'of-a-variable' }
    assert.ok(await isSignedBy(keys, sent()))
    process.env['AWS_SESSION_TOKEN'] = 'of-a-session'
    await serve()
    assert.equal((await call()).status, 200)
    assert.ok(await isSignedBy({ ...keys, sessionToken: 'of-a-session' }, sent()))
    assert.equal(aws.arrived.length, 0)
  })

  it('the role of a machine: fetches a token first, once for many calls', async () => {
    aws.respondWith = (request: IncomingMessage, response: ServerResponse) => {
      const { method, url = '', headers } = request
      if (method === 'PUT' && url === '/latest/api/token') {
        assert.equal(headers['x-aws-ec2-metadata-token-ttl-seconds'], '300')
        response.end('imds-token')
        return
      }
      if (headers['x-aws-ec2-metadata-token'] !== 'imds-token') response.statusCode = 401
      response.end(url.endsWith('/the-role') ? JSON.stringify(SAID()) : 'the-role\n')
    }
    await serve()
    assert.deepEqual([(await call()).status, (await call()).status], [200, 200])
    assert.ok(await isSignedBy(KEYS, sent()))
    const folderOf = '/latest/meta-data/iam/security-credentials/'
    assert.deepEqual(
      aws.arrived.map(({ url }) => url),
      ['/latest/api/token', folderOf, `${folderOf}the-role`],
    )
  })

  it('a web identity, with the current content of its file', async () => {
    const file = join(folder, 'token')
    writeFileSync(file, 'of-kubernetes\n')
    process.env['AWS_ROLE_ARN'] = 'arn:aws:iam::1:role/gateway'
    process.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = file
    process.env['AWS_ENDPOINT_URL_STS'] = `http://127.0.0.1:${aws.port}`
    aws.respondWith = (request, response) => {
      assert.equal(request.headers.accept, 'application/json')
      const { Token: SessionToken, ...rest } = SAID()
      const Credentials = { ...rest, SessionToken, Expiration: Date.now() / 1000 + 3600 }
      const AssumeRoleWithWebIdentityResult = { Credentials }
      response.end(
        JSON.stringify({ AssumeRoleWithWebIdentityResponse: { AssumeRoleWithWebIdentityResult } }),
      )
    }
    await serve()
    assert.equal((await call()).status, 200)
    assert.ok(await isSignedBy(KEYS, sent()))
    assert.deepEqual(Object.fromEntries(new URLSearchParams(aws.arrived[0]?.body)), {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: 'arn:aws:iam::1:role/gateway',
      RoleSessionName: 'portcullis',
      WebIdentityToken: 'of-kubernetes',
    })
  })

  it('a container, with its authorization token, and only from a local address', async () => {
    const own = `http://127.0.0.1:${aws.port}/creds?x=1`
    process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = own
    process.env['AWS_CONTAINER_AUTHORIZATION_TOKEN'] = 'Basic abc'
    aws.respondWith = (_, response) => {
      response.end(JSON.stringify(SAID()))
    }
    await serve()
    assert.equal((await call()).status, 200)
    assert.ok(await isSignedBy(KEYS, sent()))
    const [{ url, headers }] = aws.arrived as [Provider['arrived'][number]]
    assert.deepEqual([url, headers.authorization], ['/creds?x=1', 'Basic abc'])
    process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = 'http://credentials.example/creds'
    await serve()
    assert.equal((await call()).status, 503)
  })

  for (const [what, status, body] of [
    ['an error', 403, '{}'],
    ['no JSON', 200, 'hello'],
    ['null', 200, 'null'],
    ['half of them', 200, '{"AccessKeyId":"a","Token":"t"}'],
  ] as const) {
    it(`${what} in place of credentials: 503, and nothing is sent unsigned`, async () => {
      process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = `http://127.0.0.1:${aws.port}/c`
      aws.respondWith = (_, response) => {
        response.writeHead(status).end(body)
      }
      await serve()
      assert.deepEqual([(await call()).status, (await call()).status], [503, 503])
      assert.equal(bedrock.arrived.length, 0)
      assert.equal(aws.arrived.length, 1)
    })
  }

  describe('Bedrock guardrails', () => {
    const assessment = (...actions: string[]) => [
      { sensitiveInformationPolicy: { piiEntities: actions.map((action) => ({ action })) } },
    ]
    const guarded = () => ({
      policies: {
        guardrails: {
          request: [
            {
              bedrockGuardrails: {
                guardrailIdentifier: 'arn:aws:bedrock:eu:1:guardrail/g',
                guardrailVersion: 'DRAFT',
                region: 'eu-central-1',
                host: `127.0.0.1:${aws.port}`,
                policies: { backendAuth: { aws: {} } },
              },
            },
          ],
        },
      },
    })
    const says = (said: object | string, status = 200) => {
      aws.respondWith = (_, response) => {
        response.writeHead(status).end(typeof said === 'string' ? said : JSON.stringify(said))
      }
    }
    beforeEach(() => {
      process.env['AWS_ACCESS_KEY_ID'] = 'AKIDVARIABLE'
      process.env['AWS_SECRET_ACCESS_KEY'] = 'of-a-variable'
    })

    for (const [what, said, status, text] of [
      ['nothing found passes', { action: 'NONE', outputs: [], assessments: [] }, 200, 'hello'],
      [
        'what is masked is masked',
        {
          action: 'GUARDRAIL_INTERVENED',
          outputs: [{ text: 'he{NAME}' }],
          assessments: assessment('ANONYMIZED', 'NONE'),
        },
        200,
        'he{NAME}',
      ],
      [
        'what is blocked is rejected',
        {
          action: 'GUARDRAIL_INTERVENED',
          outputs: [{ text: 'No.' }],
          assessments: assessment('ANONYMIZED', 'BLOCKED'),
        },
        403,
        undefined,
      ],
      [
        'an intervention that says nothing of why is rejected',
        { action: 'GUARDRAIL_INTERVENED', outputs: [{ text: 'x' }], assessments: [{}] },
        403,
        undefined,
      ],
      ['no action fails closed', { outputs: [] }, 503, undefined],
      ['no JSON fails closed', 'fine', 503, undefined],
    ] as const) {
      it(what, async () => {
        says(said)
        await serve(guarded())
        assert.equal((await call()).status, status)
        const [asked] = aws.arrived as [Provider['arrived'][number]]
        assert.equal(
          asked.url,
          '/guardrail/arn%3Aaws%3Abedrock%3Aeu%3A1%3Aguardrail%2Fg/version/DRAFT/apply',
        )
        assert.equal(asked.host, 'bedrock-runtime.eu-central-1.amazonaws.com')
        const keys = { accessKeyId: 'AKIDVARIABLE', secretAccessKey: 'of-a-variable' }
        assert.ok(await isSignedBy(keys, asked))
        assert.deepEqual(JSON.parse(asked.body), {
          source: 'INPUT',
          content: [{ text: { text: 'hello' } }],
        })
        if (text === undefined) assert.equal(bedrock.arrived.length, 0)
        else assert.equal(JSON.parse(sent().body).messages[0].content[0].text, text)
      })
    }
  })
})
