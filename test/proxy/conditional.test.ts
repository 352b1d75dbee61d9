import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { type Governed, governBy, startServer } from './governed.ts'

const opened: { close: () => unknown }[] = []
afterEach(async () => {
  for (const own of opened.splice(0)) await own.close()
})

async function gatewayWith(policies: string): Promise<Governed> {
  const gateway = await governBy(
    policies,
    (own, port, upstream) =>
      `gateways: { default: { port: ${port} } }\nroutes:\n- name: all\n  policies:\n${own.replace(/^(?=.)/gm, '    ')}\n  backends: [{ host: '127.0.0.1:${upstream}' }]\n`,
  )
  opened.push(gateway)
  return gateway
}

/** A service that rejects every request and counts them. */
async function rejecting() {
  const asked: (string | undefined)[] = []
  const service = await startServer((request, response) => {
    asked.push(request.url)
    response.writeHead(403, {}).end()
  })
  opened.push(service)
  return { ...service, asked }
}

describe('conditional extAuthz', () => {
  const policyOf = (port: number, rest = '') => `extAuthz:
  conditional:
  - condition: request.headers['x-kind'] == 'checked'
    host: 127.0.0.1:${port}
    protocol: { http: {} }
${rest}`

  for (const [what, headers, status] of [
    ['where the condition is true, the service is asked', { 'x-kind': 'checked' }, 403],
    ['where it is false, nobody is', { 'x-kind': 'open' }, 200],
    ['where it fails, the service is asked: to leave a header out is no way around', {}, 403],
  ] as const) {
    it(`${what}: ${status}`, async () => {
      const service = await rejecting()
      const gateway = await gatewayWith(policyOf(service.port))
      assert.equal((await gateway.get('/', headers as Record<string, string>)).status, status)
      assert.equal(service.asked.length, status === 200 ? 0 : 1)
    })
  }

  it('only the first entry that applies is evaluated', async () => {
    const [one, two] = [await rejecting(), await rejecting()]
    const gateway = await gatewayWith(
      policyOf(one.port, `  - { host: '127.0.0.1:${two.port}', protocol: { http: {} } }\n`),
    )
    await gateway.get('/', { 'x-kind': 'checked' })
    assert.deepEqual([one.asked.length, two.asked.length], [1, 0])
    assert.equal((await gateway.get('/', { 'x-kind': 'other' })).status, 403)
    assert.deepEqual([one.asked.length, two.asked.length], [1, 1])
  })

  it('rules of the policy see its results', async () => {
    const service = await startServer((_, response) => response.end('ok'))
    opened.push(service)
    const gateway = await gatewayWith(`extAuthz:
  conditional:
  - condition: request.path == '/a'
    host: 127.0.0.1:${service.port}
    protocol: { http: { metadata: { who: "'ann'" } } }
authorization: { rules: [{ allow: "extauthz.who == 'ann'" }] }
`)
    assert.equal((await gateway.get('/a')).status, 200)
    assert.equal((await gateway.get('/b')).status, 403)
  })
})

describe('conditional policies of a backend', () => {
  const served = async (policies: string) => {
    const gateway = await governBy(
      policies,
      (own, port, upstream) =>
        `gateways: { default: { port: ${port} } }\nroutes:\n- name: all\n  backends: [{ backend: a }]\nbackends:\n- name: a\n  host: 127.0.0.1:${upstream}\n  policies:\n${own.replace(/^(?=.)/gm, '    ')}`,
    )
    opened.push(gateway)
    return gateway
  }

  it('read the known attributes of the backend, and fail closed', async () => {
    for (const [condition, status] of [
      ["backend.name == 'a'", 403],
      ["backend.name == 'b'", 200],
      ["backend.provider == 'x'", 403],
    ] as const) {
      const service = await rejecting()
      const gateway = await served(
        `extAuthz:\n  conditional:\n  - condition: ${condition}\n    host: 127.0.0.1:${service.port}\n    protocol: { http: {} }\n`,
      )
      assert.equal((await gateway.get('/')).status, status, condition)
      assert.equal(service.asked.length, status === 200 ? 0 : 1, condition)
    }
  })

  it('change requests and responses by the entry that applies', async () => {
    const gateway = await served(`transformations:
  conditional:
  - condition: request.path == '/one'
    request: { set: { x-entry: "'one'" } }
    response: { set: { x-entry: "'one'" } }
  - condition: backend.type == 'static'
    request: { set: { x-entry: backend.name } }
    response: { set: { x-entry: string(response.code) } }
`)
    const [one, other] = [await gateway.get('/one'), await gateway.get('/other')]
    assert.deepEqual([one.got?.headers['x-entry'], one.headers.get('x-entry')], ['one', 'one'])
    assert.deepEqual([other.got?.headers['x-entry'], other.headers.get('x-entry')], ['a', '200'])
  })
})

describe('conditional localRateLimit', () => {
  it('counts each entry separately, and also if a condition cannot be evaluated', async () => {
    const gateway = await gatewayWith(`localRateLimit:
  conditional:
  - { condition: "request.headers['x-plan'] == 'free'", requests: 1, unit: Hours }
  - { condition: "request.headers['x-plan'] == 'paid'", requests: 2, unit: Hours }
`)
    const ask = async (plan?: string) =>
      (await gateway.get('/', plan === undefined ? {} : { 'x-plan': plan })).status
    assert.deepEqual([await ask('paid'), await ask('paid'), await ask('paid')], [200, 200, 429])
    assert.deepEqual([await ask('free'), await ask('free')], [200, 429])
    assert.equal(await ask(), 429, 'without a plan it is the first one')
    assert.deepEqual([await ask('none'), await ask('none'), await ask('none')], [200, 200, 200])
  })
})

describe('conditional directResponse', () => {
  it('responds only if the condition is true', async () => {
    const gateway = await gatewayWith(`directResponse:
  conditional:
  - { condition: "request.headers['x-a'] == '1'", status: 418, body: one }
  - { condition: "request.path == '/two'", status: 503, bodyExpression: "'at ' + request.path" }
`)
    assert.equal((await gateway.get('/', { 'x-a': '1' })).status, 418)
    assert.equal((await gateway.get('/two')).text, 'at /two')
    assert.equal((await gateway.get('/', { 'x-a': '2' })).status, 200)
    assert.equal((await gateway.get('/')).status, 200)
  })
})

describe('conditions', () => {
  const messagesOf = (policies: string) => {
    const text = `gateways: { default: { port: 8080 } }\nroutes:\n- name: r\n  policies: ${policies}\n  backends: [{ host: 'a:80' }]\n`
    const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
    return diagnostics.map(({ code, message, hint }) => `${code} ${message} ${hint}`)
  }

  for (const [policies, message] of [
    [
      "{ extAuthz: { conditional: [{ host: 'a:1' }, { condition: 'request.path == \"/\"', host: 'a:1' }] } }",
      /only the last entry can omit/,
    ],
    ["{ extAuthz: { conditional: [{ condition: 'random() < 0.5', host: 'a:1' }] } }", /PC0116/],
    ["{ extAuthz: { conditional: [{ condition: 'nothing', host: 'a:1' }] } }", /PC0103/],
    ['{ extAuthz: { conditional: [{ condition: \'request.path == "/"\' }] } }', /one of `host`/],
    [
      "{ extAuthz: { host: 'a:1', failureMod: Deny, timeou: 1s, cach: {} } }",
      /unknown key|failureMod/,
    ],
    [
      '{ localRateLimit: { conditional: [{ condition: "true == true", requests: 1 }] } }',
      /`unit` is missing/,
    ],
    ['{ directResponse: { conditional: [{ condition: "1", status: 200 }] } }', /PC0109/],
    [
      '{ localRateLimit: { conditional: [{ request: 1, unit: Seconds }] } }',
      /^PC0210 unknown field `request` did you mean `requests`\?$/,
    ],
    [
      "{ extAuthz: { conditional: [{ host: 'a:1', conditional: [] }] } }",
      /^PC0210 unknown field `conditional` did you mean `condition`\?$/,
    ],
  ] as const) {
    it(`${policies}: ${message.source}`, () => {
      assert.match(messagesOf(policies).join('\n'), message)
    })
  }
})
