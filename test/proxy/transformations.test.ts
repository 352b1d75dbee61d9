import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, startDeciding } from '../decisions/gateway.ts'
import { free } from './accepting.ts'
import { type Governed, governBy, startServer } from './governed.ts'
import { until } from './whole-gateway.ts'

const opened: { close: () => unknown }[] = []
afterEach(async () => {
  for (const own of opened.splice(0)) await own.close()
})

/** `policies` of the route and, below `backend:`, of the backend entry. */
async function gatewayWith(policies: string, backend = 'http: {}', route = ''): Promise<Governed> {
  const gateway = await governBy(
    policies,
    (own, port, upstream) =>
      `gateways: { default: { port: ${port} } }\nroutes:\n- name: all\n  policies:\n${route.replace(/^(?=.)/gm, '    ')}\n${own.replace(/^(?=.)/gm, '    ')}\n` +
      `  backends:\n  - host: 127.0.0.1:${upstream}\n    policies:\n${backend.replace(/^(?=.)/gm, '      ')}\n`,
  )
  opened.push(gateway)
  return gateway
}

describe('transformations of requests', () => {
  it("set, add and remove headers by the client's request", async () => {
    const gateway = await gatewayWith(`transformations:
  request:
    set: { x-path: request.path, x-who: "default(request.headers['x-user'], 'nobody')", X-Number: '1 + 1' }
    add: { x-more: "'b'" }
    remove: [X-Gone]
    metadata: { first: "'m'" }
`)
    const { got } = await gateway.get('/a', {
      'x-user': 'ann',
      'x-more': 'a',
      'x-gone': '1',
      'x-path': 'mine',
    })
    assert.equal(got?.headers['x-path'], '/a')
    assert.equal(got?.headers['x-who'], 'ann')
    assert.equal(got?.headers['x-number'], '2')
    assert.equal(got?.headers['x-more'], 'a, b')
    assert.equal(got?.headers['x-gone'], undefined)
    assert.equal((await gateway.get('/a')).got?.headers['x-who'], 'nobody')
  })

  for (const [what, expression] of [
    ['an error', "request.headers['x-none']"],
    ['null', 'null'],
    ['a line break', "'a\\\\r\\\\nx-evil: 1'"],
    ['text with spaces around it', "'admin '"],
  ] as const) {
    it(`a header whose value is ${what} is removed, also the client's own`, async () => {
      const gateway = await gatewayWith(`transformations:
  request: { set: { x-role: "${expression}" }, add: { x-group: "${expression}" } }
`)
      const { got, status } = await gateway.get('/', { 'x-role': 'admin', 'x-group': 'eng' })
      assert.equal(status, 200)
      assert.equal(got?.headers['x-role'], undefined)
      assert.equal(got?.headers['x-group'], undefined)
      assert.equal(got?.headers['x-evil'], undefined)
    })
  }

  it('change path and authority; invalid values change nothing', async () => {
    const gateway = await gatewayWith(`transformations:
  request:
    set:
      ':path': "default(request.headers['x-path'], request.path)"
      host: "'api.example:99'"
`)
    const to = async (path: string) => (await gateway.get('/own?q=1', { 'x-path': path })).got
    assert.equal((await to('/new?a=b'))?.url, '/new?a=b')
    assert.equal((await to('/new'))?.headers.host, 'api.example:99')
    for (const bad of ['new', '', '/a b', '/a#b', 'http://evil.example/']) {
      assert.equal((await to(bad))?.url, '/own?q=1', bad)
    }
  })

  it('never change what rules read', async () => {
    const gateway = await gatewayWith(
      `transformations: { request: { set: { ':path': "'/open'", x-a: "'1'" } } }
authorization: { rules: [{ deny: "request.path == '/denied'" }] }
`,
      `authorization: { rules: [{ require: "request.path != '/half' && !('x-a' in request.headers)" }] }`,
    )
    assert.equal((await gateway.get('/denied')).status, 403)
    assert.equal((await gateway.get('/half')).status, 403)
    assert.equal((await gateway.get('/fine')).got?.url, '/open')
    assert.equal((await gateway.get('/fine', { 'x-a': '1' })).status, 403)
  })

  it('set metadata for rules of backends, later transformations and the log', async () => {
    const gateway = await gatewayWith(
      `transformations:
  request:
    metadata: { team: "request.headers['x-team']", list: '[1, 2]' }
    set: { x-size: size(metadata.list) }
  response: { set: { x-team: metadata.team } }
`,
      `authorization: { rules: [{ allow: "metadata.team == 'blue'" }] }
transformations: { request: { set: { x-of-team: metadata.team }, metadata: { team: "'red'" } } }
`,
    )
    const { got, headers } = await gateway.get('/', { 'x-team': 'blue' })
    assert.equal(got?.headers['x-size'], '2')
    assert.equal(got?.headers['x-of-team'], 'red', 'metadata comes first')
    assert.equal(headers.get('x-team'), 'red')
    assert.equal((await gateway.get('/', { 'x-team': 'green' })).status, 403)
    assert.equal((await gateway.get('/')).status, 403)
  })

  it('replace the body, however long it was', async () => {
    const gateway = await gatewayWith(`transformations:
  request:
    body: "toJson({'model': json(request.body).model, 'user': 'gateway'})"
    set: { content-type: "'application/json'" }
`)
    const init = { method: 'POST', body: '{"model": "m1", "secret": 1}' }
    const { got } = await gateway.send('/', init)
    assert.deepEqual(JSON.parse(got?.body ?? ''), { model: 'm1', user: 'gateway' })
    assert.equal(got?.headers['content-length'], String(got?.body.length))
    const zipped = new Uint8Array(gzipSync(init.body))
    const coded = await gateway.send('/', {
      method: 'POST',
      body: zipped,
      headers: { 'content-encoding': 'gzip' },
    })
    assert.deepEqual(JSON.parse(coded.got?.body ?? ''), { model: 'm1', user: 'gateway' })
    assert.equal(coded.got?.headers['content-encoding'], undefined)
    const bad = await gateway.send('/', { method: 'POST', body: 'no json' })
    assert.equal(bad.got?.body, '')
  })

  for (const place of ['route', 'backend']) {
    it(`of a ${place} are what a mirror gets too`, async () => {
      const copies: { body: string; length: string | undefined }[] = []
      const mirror = await startServer(async (request, response) => {
        let body = ''
        for await (const chunk of request) body += chunk
        copies.push({ body, length: request.headers['content-length'] })
        response.end()
      })
      opened.push(mirror)
      const change =
        'transformations: { request: { body: "\'changed: \' + string(request.body)" } }'
      const copy = `requestMirror: { backend: { host: 127.0.0.1:${mirror.port} } }`
      const gateway =
        place === 'route'
          ? await gatewayWith(`${change}\n${copy}`)
          : await gatewayWith(copy, change)
      const { got } = await gateway.send('/', { method: 'POST', body: 'secret' })
      assert.equal(got?.body, 'changed: secret')
      await until('the copy', () => copies.length > 0)
      assert.deepEqual(copies, [{ body: 'changed: secret', length: '15' }])
    })
  }
})

describe('transformations of responses', () => {
  it('see the response of the backend', async () => {
    const gateway = await gatewayWith(`transformations:
  response:
    set: { x-code: string(response.code), ':status': '201', x-twice: "response.headers['x-b']" }
    remove: [x-a, date]
`)
    const { status, headers } = await gateway.get('/')
    assert.equal(status, 201)
    assert.equal(headers.get('x-code'), '200')
    assert.equal(headers.get('x-twice'), null)
  })

  it('apply to responses of the gateway itself', async () => {
    const gateway = await gatewayWith(`transformations:
  response: { set: { x-why: response.flags } }
authorization: { rules: [{ deny: 'true' }] }
`)
    const { status, headers } = await gateway.get('/')
    assert.deepEqual([status, headers.get('x-why')], [403, 'authorization'])
  })

  it('replace the body, and request a readable one from the backend', async () => {
    const body = JSON.stringify({ id: 7, secret: 'x' })
    const upstream = await startServer((request, response) => {
      const isZipped = /gzip/.test(String(request.headers['accept-encoding']))
      response.setHeader('etag', '"a"')
      if (isZipped) response.setHeader('content-encoding', 'gzip')
      response.end(isZipped ? gzipSync(body) : body)
    })
    const port = await free()
    const gateway: Deciding = await startDeciding(`gateways: { default: { port: ${port} } }
routes:
- policies:
    compression: { minBytes: 1, contentTypes: [application/json] }
    transformations:
      response:
        body: "{'id': json(response.body).id}"
        set: { content-type: "'application/json'" }
  backends: [{ host: '127.0.0.1:${upstream.port}' }]
`)
    opened.push(upstream, { close: () => gateway.stop() })
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      headers: { 'accept-encoding': 'gzip' },
    })
    assert.deepEqual(await response.json(), { id: 7 })
    assert.equal(response.headers.get('etag'), null)
    assert.ok(gunzipSync(gzipSync('')).length === 0)
    const head = await fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD' })
    assert.equal(head.status, 200)
  })
})

describe('conditional transformations', () => {
  const POLICY = `transformations:
  conditional:
  - condition: request.headers['x-kind'] == 'a'
    request: { set: { x-is: "'a'" } }
    response: { set: { x-was: "'a'" } }
  - condition: request.headers['x-kind'].startsWith('b')
    request: { set: { x-is: "'b'" }, body: "'B'" }
`
  const REST = `  - request: { set: { x-is: "'rest'" } }\n`

  for (const [kind, policy, is, was] of [
    ['a', POLICY, 'a', 'a'],
    ['b', POLICY, 'b', null],
    ['c', POLICY, undefined, null],
    ['c', POLICY + REST, 'rest', null],
    [undefined, POLICY + REST, 'rest', null],
  ] as const) {
    it(`${kind}${policy === POLICY ? '' : ', with a rest'}: ${is}`, async () => {
      const gateway = await gatewayWith(policy)
      const headers = kind === undefined ? undefined : { 'x-kind': kind }
      const sent = await gateway.send('/', {
        method: 'POST',
        body: 'own',
        ...(headers && { headers }),
      })
      assert.equal(sent.got?.headers['x-is'], is)
      assert.equal(sent.headers.get('x-was'), was)
      assert.equal(sent.got?.body, is === 'b' ? 'B' : 'own')
    })
  }

  it('choose once for request and response', async () => {
    const gateway = await gatewayWith(`transformations:
  conditional:
  - condition: random() < 0.5
    request: { set: { x-is: "'a'" } }
    response: { set: { x-was: "'a'" } }
`)
    for (let i = 0; i < 20; i++) {
      const { got, headers } = await gateway.get('/')
      assert.equal(got?.headers['x-is'] ?? null, headers.get('x-was'))
    }
  })
})

describe('invalid transformations', () => {
  const errorsOf = (policy: string) => {
    const text = `gateways: { default: { port: 8080 } }\nroutes:\n- policies: { transformations: ${policy} }\n  backends: [{ host: 'a:80' }]\n`
    return loadText(text, 'gateway.yaml', { environment: {} })
      .result.diagnostics.filter(({ severity }) => severity === 'error')
      .map(({ code, message, hint }) => `${code} ${message} ${hint}`)
      .join('\n')
  }

  for (const [policy, message] of [
    [
      '{ request: { set: { x-a: response.code } } }',
      /PC0104 `response` is not available in transf/,
    ],
    ['{ request: { set: { x-a: nothing } } }', /PC0103/],
    ['{ request: { set: { transfer-encoding: "\'a\'" } } }', /cannot be changed/],
    ['{ request: { set: { ":method": "\'a\'" } } }', /invalid header name/],
    ['{ response: { set: { ":path": "\'a\'" } } }', /invalid header name/],
    ['{ request: { remove: [":path"] } }', /invalid header name/],
    ['{ request: { replace: "{}" } }', /`replace` is not supported/],
    ['{ request: {}, conditional: [{ request: {} }] }', /are mutually exclusive/],
    ['{ conditional: [{ request: {} }, { condition: "true", request: {} }] }', /only the last/],
    ['{ conditional: [] }', /conditional|at least|1/],
  ] as const) {
    it(policy, () => assert.match(errorsOf(policy), message))
  }

  it('metadata is unknown to rules that run before', () => {
    const text = `gateways: { default: { port: 8080 } }\nroutes:\n- policies: { authorization: { rules: [{ deny: 'metadata.a == 1' }] } }\n  backends: [{ host: 'a:80' }]\n`
    const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
    assert.equal(diagnostics[0]?.code, 'PC0104')
  })
})
