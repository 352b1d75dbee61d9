import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hasten } from '../passing-time.ts'
import { type AuthorizationService, startAuthorizationService } from './authorization-service.ts'
import { type Governed, govern, startServer } from './governed.ts'
import { exchange } from './harness.ts'

const raw = (key: string, bytes: readonly number[]) => ({
  header: { key, rawValue: Buffer.from(bytes) },
})
const text = (key: string, value: string) => ({ header: { key, value } })

describe('external authorization over gRPC', () => {
  let service: AuthorizationService
  let gateway: Governed
  const policies = (more = '') =>
    `extAuthz:\n  host: 127.0.0.1:${service.port}\n  timeout: 60s\n${more}authorization:\n  rules: [{ deny: "extauthz.level == 3.0" }]\n`
  before(async () => {
    service = await startAuthorizationService()
    gateway = await govern(
      policies(
        `  protocol:\n    grpc:\n      context: { team: shop }\n      metadata: { who: '{"path": request.path, "n": [1, true, null]}' }\n  includeRequestBody: { maxRequestBytes: 16, allowPartialMessage: true }\n`,
      ),
    )
  })
  after(async () => {
    await gateway.close()
    service.close()
  })

  it('gets the request', async () => {
    service.respondWith = () => ({})
    const init = {
      method: 'POST',
      headers: { 'x-one': 'ä', authorization: 'Bearer a' },
      body: 'hello',
    }
    assert.equal((await gateway.send('/a/b?c=d', init)).status, 200)
    const { attributes } = service.checked.at(-1) ?? assert.fail()
    const { http } = attributes.request
    assert.deepEqual(
      [
        http['method'],
        http['path'],
        http['query'],
        http['host'],
        http['scheme'],
        http['protocol'],
        http['body'],
      ],
      ['POST', '/a/b?c=d', 'c=d', '127.0.0.1', 'http', 'HTTP/1.1', 'hello'],
    )
    assert.equal(http['size'], '5')
    assert.equal(http.headers['authorization'], 'Bearer a')
    assert.equal(http.headers[':method'], 'POST')
    assert.equal(http.headers['x-one'], 'ä')
    assert.deepEqual(attributes.contextExtensions, { team: 'shop' })
    assert.deepEqual(attributes.metadataContext.filterMetadata['who']?.fields, {
      path: { stringValue: '/a/b' },
      n: { listValue: { values: [{ numberValue: 1 }, { boolValue: true }, { nullValue: 0 }] } },
    })
    assert.equal(attributes.source.address.socketAddress.address, '127.0.0.1')
  })

  for (const [what, bytes, seen] of [
    ['UTF-8', Buffer.from('张伟 Zoë', 'utf8'), '张伟 Zoë'],
    ['latin-1', Buffer.from('Zoë', 'latin1'), 'Zoë'],
    ['neither whole', Buffer.from('ÿ张', 'utf8').subarray(0, 4), 'Ã¿å¼'],
  ] as const) {
    it(`is told of headers as text: ${what}`, async () => {
      service.respondWith = () => ({})
      const head = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-user: '
      const value = bytes.toString('latin1')
      assert.match(await exchange(gateway.port, `${head}${value}\r\n\r\n`), /^HTTP\/1\.1 200 /)
      const { http } = service.checked.at(-1)?.attributes.request ?? assert.fail()
      assert.equal(http.headers['x-user'], seen)
    })
  }

  it('applies the changes that the service requests', async () => {
    service.respondWith = () => ({
      status: { code: 0 },
      okResponse: {
        headers: [
          text('x-user', 'alice'),
          { ...text('x-more', '2'), append: { value: true } },
          { ...text('x-absent', '1'), appendAction: 1 },
          { ...text('x-kept', 'never'), appendAction: 1 },
          { ...text('x-nowhere', 'never'), appendAction: 3 },
          text('content-length', '999'),
        ],
        headersToRemove: ['x-secret'],
        responseHeadersToAdd: [text('x-served-for', 'alice')],
        queryParametersToSet: [{ key: 'tenant', value: 'a b' }],
        queryParametersToRemove: ['debug'],
      },
    })
    const sent = { 'x-user': 'mallory', 'x-more': '1', 'x-kept': 'mine', 'x-secret': 's' }
    const { status, got, headers } = await gateway.get('/?debug=1&a=2', sent)
    assert.equal(status, 200)
    assert.equal(got?.headers['x-user'], 'alice')
    assert.equal(got?.headers['x-more'], '1, 2')
    assert.equal(got?.headers['x-absent'], '1')
    assert.equal(got?.headers['x-kept'], 'mine')
    assert.equal(got?.headers['x-secret'], undefined)
    assert.equal(got?.headers['x-nowhere'], undefined)
    assert.equal(got?.url, '/?a=2&tenant=a+b')
    assert.equal(headers.get('x-served-for'), 'alice')
  })

  for (const [what, header, bytes] of [
    ['UTF-8', text('x-user', '张伟 Zoë'), Buffer.from('张伟 Zoë', 'utf8')],
    [
      'raw UTF-8',
      { header: { key: 'x-user', rawValue: Buffer.from('张伟') } },
      Buffer.from('张伟'),
    ],
    [
      'raw Latin-1',
      { header: { key: 'x-user', rawValue: Buffer.from('Zoë', 'latin1') } },
      Buffer.from('Zoë'),
    ],
  ] as const) {
    it(`sets headers in UTF-8, whatever the service sent: ${what}`, async () => {
      service.respondWith = () => ({ status: { code: 0 }, okResponse: { headers: [header] } })
      const { status, got } = await gateway.get('/', { 'x-user': 'spoof' })
      assert.equal(status, 200)
      assert.deepEqual(Buffer.from(String(got?.headers['x-user']), 'latin1'), Buffer.from(bytes))
    })
  }

  for (const [what, ok] of [
    ['a line end in a value', { headers: [text('x-user', 'a\r\nx-injected: 1')] }],
    ['NUL in a value', { headers: [text('x-user', 'a\0')] }],
    ['a control character in raw bytes', { headers: [raw('x-user', [1])] }],
    ['a name that is none', { headers: [text('x user', 'a')] }],
    ['no name', { headers: [text('', 'a')] }],
    ['a value to add', { headers: [{ ...text('x-user', 'a\n'), append: { value: true } }] }],
    ['a value for the client', { responseHeadersToAdd: [text('set-cookie', 'a\n')] }],
  ] as const) {
    it(`denies if a header cannot be written: ${what}`, async () => {
      service.respondWith = () => ({ status: { code: 0 }, okResponse: ok })
      const before = gateway.lines.length
      const { status, got } = await gateway.get('/', { 'x-user': 'spoof' })
      assert.deepEqual([status, got], [403, undefined])
      assert.match(JSON.stringify(gateway.lines.slice(before)), /cannot be sent/)
    })
  }

  it('rejects with the response of the service', async () => {
    service.respondWith = () => ({
      status: { code: 7 },
      deniedResponse: {
        status: { code: 401 },
        headers: [
          text('www-authenticate', 'Custom'),
          text('content-type', 'application/json'),
          text('transfer-encoding', 'chunked'),
        ],
        body: '{"why":"not you"}',
      },
    })
    const before = gateway.lines.length
    const { status, headers, text: body } = await gateway.get()
    assert.deepEqual(
      [status, headers.get('www-authenticate'), headers.get('content-type'), body],
      [401, 'Custom', 'application/json', '{"why":"not you"}'],
    )
    assert.equal(gateway.lines[before]?.['reason'], 'external-authorization')
  })

  for (const [what, response] of [
    ['a refusal without a response', { status: { code: 7 } }],
    [
      'a refusal with status 200',
      { status: { code: 7 }, deniedResponse: { status: { code: 200 } } },
    ],
    ['a refusal beside OK', { deniedResponse: { status: { code: 403 } } }],
    ['a failure of gRPC', 13],
    ['no response in time', null],
  ] as const) {
    it(`${what}: 403`, async () => {
      service.respondWith = () => response
      const asked = gateway.get()
      const { status } = await (response === null ? hasten(asked, 5_000) : asked)
      assert.equal(status, 403)
    })
  }

  it('exposes its metadata to rules', async () => {
    const metadata = (level: number) => ({
      dynamicMetadata: { fields: { level: { numberValue: level } } },
    })
    service.respondWith = () => metadata(2.5)
    assert.equal((await gateway.get()).status, 200)
    service.respondWith = () => metadata(3)
    assert.equal((await gateway.get()).status, 403)
  })

  it('gets the beginning of a long body, and the backend gets all of it', async () => {
    service.respondWith = () => ({})
    const body = 'x'.repeat(100)
    const { got } = await gateway.send('/', { method: 'POST', body })
    assert.equal(got?.body, body)
    const { http } = (service.checked.at(-1) ?? assert.fail()).attributes.request
    assert.deepEqual([http['body'], http['size']], ['x'.repeat(16), '100'])
  })

  it('responds with 413 to a body that it must see completely and cannot', async () => {
    const own = await govern(policies('  includeRequestBody: { maxRequestBytes: 16 }\n'))
    const asked = service.checked.length
    assert.equal((await own.send('/', { method: 'POST', body: 'x'.repeat(17) })).status, 413)
    assert.equal(service.checked.length, asked)
    assert.equal((await own.send('/', { method: 'POST', body: 'x'.repeat(16) })).status, 200)
    await own.close()
  })

  it('caches responses by their key, but no failures', async () => {
    const own = await govern(policies(`  cache: { key: ["request.headers['x-user']"], ttl: 1m }\n`))
    service.respondWith = () => 14
    assert.equal((await own.get('/', { 'x-user': 'a' })).status, 403)
    service.respondWith = () => ({ okResponse: { headers: [text('x-set', 'yes')] } })
    const asked = service.checked.length
    for (let i = 0; i < 3; i++) {
      assert.equal((await own.get('/', { 'x-user': 'a' })).got?.headers['x-set'], 'yes')
    }
    assert.equal(service.checked.length, asked + 1)
    await own.get('/', { 'x-user': 'b' })
    await own.get()
    await own.get()
    assert.equal(service.checked.length, asked + 4, 'without a key each is asked for itself')
    await own.close()
  })
})

describe('an unavailable service', () => {
  for (const [mode, status] of [
    ['', 403],
    ['  failureMode: { denyWithStatus: 503 }\n', 503],
    ['  failureMode: allow\n', 200],
  ] as const) {
    it(`${mode.trim() || 'by default'}: ${status}`, async () => {
      const gone = await startServer(() => {})
      gone.close()
      for (const protocol of ['grpc', 'http']) {
        const gateway = await govern(
          `extAuthz:\n  host: 127.0.0.1:${gone.port}\n  protocol: { ${protocol}: {} }\n${mode}`,
        )
        assert.equal((await gateway.get()).status, status)
        await gateway.close()
      }
    })
  }

  it('a slow one holds no more than the limit', async () => {
    const slow = await startServer(() => {})
    const gateway = await govern(
      `extAuthz:\n  host: 127.0.0.1:${slow.port}\n  timeout: 200ms\n  protocol: { http: {} }\n`,
    )
    const all = await Promise.all(Array.from({ length: 50 }, () => gateway.get()))
    assert.deepEqual([...new Set(all.map(({ status }) => status))], [403])
    assert.ok(gateway.lines.every(({ detail }) => detail === 'unavailable: timeout'))
    await gateway.close()
    slow.close()
  })
})

describe('external authorization over HTTP', () => {
  it('2xx admits, 5xx is a failure, and any other status is the response of the service', async () => {
    const asked: { url: string; headers: Record<string, unknown>; method: string }[] = []
    let status = 200
    const service = await startServer((request, response) => {
      asked.push({ url: request.url ?? '', headers: request.headers, method: request.method ?? '' })
      response.writeHead(status, {
        'x-user': 'alice',
        'x-other': '1',
        'set-cookie': ['a=1', 'b=2'],
      })
      response.end('said so')
    })
    const gateway = await govern(
      `extAuthz:
  backend: judge
  protocol:
    http:
      path: "'/check' + request.path"
      includeResponseHeaders: [x-user]
      addRequestHeaders: { x-method: request.method, ":method": "'GET'" }
      metadata: { user: "response.headers['x-user']" }
authorization:
  rules: [{ require: "extauthz.user == 'alice'" }]
`,
      `backends:\n- name: judge\n  host: 127.0.0.1:${service.port}\n`,
    )
    const init = {
      method: 'POST',
      body: 'b',
      headers: { cookie: 'c=1', 'x-user': 'mallory', 'x-hidden': '1' },
    }
    const admitted = await gateway.send('/a?b', init)
    assert.equal(admitted.status, 200)
    assert.equal(admitted.got?.headers['x-user'], 'alice')
    assert.equal(admitted.got?.headers['x-other'], undefined)
    assert.equal(admitted.got?.body, 'b')
    const [question] = asked
    assert.deepEqual([question?.method, question?.url], ['GET', '/check/a'])
    assert.equal(question?.headers['x-method'], 'POST')
    assert.equal(question?.headers['cookie'], 'c=1')
    assert.equal(question?.headers['x-hidden'], undefined)

    status = 302
    const rejected = await gateway.get()
    assert.deepEqual(
      [rejected.status, rejected.text, rejected.headers.getSetCookie()],
      [302, 'said so', ['a=1', 'b=2']],
    )
    status = 500
    assert.equal((await gateway.get()).status, 403)
    await gateway.close()
    service.close()
  })

  for (const [what, status, more] of [
    ['says nothing', 204, ''],
    ['is not to be asked', 500, '  failureMode: Allow\n'],
  ] as const) {
    it(`lets no client speak in the name of a service that ${what}`, async () => {
      const service = await startServer((_, response) => response.writeHead(status).end())
      const gateway = await govern(
        `extAuthz:\n  host: 127.0.0.1:${service.port}\n${more}  protocol: { http: { includeResponseHeaders: [x-user] } }\n`,
      )
      const init = { headers: { 'X-User': 'mallory', 'x-other': '1' } }
      const { status: received, got } = await gateway.send('/a', init)
      assert.equal(received, 200)
      assert.deepEqual([got?.headers['x-user'], got?.headers['x-other']], [undefined, '1'])
      await gateway.close()
      service.close()
    })
  }

  it('gets the address of the client, and rules see the body of its response', async () => {
    const asked: string[] = []
    const service = await startServer((request, response) => {
      asked.push(request.url ?? '')
      response.end(JSON.stringify({ Node: { Name: 'laptop' } }))
    })
    const gateway = await govern(
      `extAuthz:
  host: 127.0.0.1:${service.port}
  protocol:
    http:
      path: '"/whois?addr=" + source.address'
      metadata: { node: json(response.body).Node.Name }
authorization:
  rules: [{ require: "extauthz.node == 'laptop'" }]
responseHeaders:
  set: { x-own: 'yes' }
`,
    )
    const { status, headers } = await gateway.get('/a')
    assert.deepEqual([status, headers.get('x-own')], [200, 'yes'])
    assert.deepEqual(asked, ['/whois?addr=127.0.0.1'])
    await gateway.close()
    service.close()
  })

  it('redirects rejected clients to sign in', async () => {
    const service = await startServer((_, response) => response.writeHead(401).end())
    const gateway = await govern(
      `extAuthz:\n  host: 127.0.0.1:${service.port}\n  protocol: { http: { redirect: "'https://login.example/?from=' + request.path" } }\n`,
    )
    const { status, headers } = await gateway.get('/a')
    assert.deepEqual([status, headers.get('location')], [302, 'https://login.example/?from=/a'])
    await gateway.close()
    service.close()
  })
})
