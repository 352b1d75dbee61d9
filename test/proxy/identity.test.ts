import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type Governed, govern } from './governed.ts'
import { exchange } from './harness.ts'

const request = (...lines: readonly string[]) =>
  `GET / HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`

describe('attacks on headers that rules read', () => {
  let gateway: Governed
  before(async () => {
    gateway = await govern(`authorization:
  rules:
  - require: "request.headers['x-user'] == 'alice'"
  - deny: "'x-blocked' in request.headers"
`)
  })
  after(() => gateway.close())

  const status = async (...lines: readonly string[]) =>
    (await exchange(gateway.port, request(...lines, 'Connection: close'))).slice(9, 12)

  for (const [what, lines, expected] of [
    ['the header once', ['X-User: alice'], '200'],
    ['twice, both times the same', ['X-User: alice', 'X-User: alice'], '403'],
    ['twice, the good one first', ['X-User: alice', 'x-user: mallory'], '403'],
    ['twice, the good one last', ['X-User: mallory', 'X-User: alice'], '403'],
    ['in a list', ['X-User: alice, mallory'], '403'],
    ['with an underscore, which backends may take for it', ['X_User: alice'], '400'],
    ['with spaces around', ['X-User:    alice  '], '200'],
    ['with a space before the colon', ['X-User : alice'], '400'],
    ['a header that is denied', ['X-User: alice', 'X-Blocked: 1'], '403'],
    ['one that is denied, without a value', ['X-User: alice', 'X-Blocked:'], '403'],
  ] as const) {
    it(`${what}: ${expected}`, async () => assert.equal(await status(...lines), expected))
  }

  it('headers that Connection names reach neither rules nor the backend', async () => {
    const without = request('X-User: alice', 'Connection: close, x-user')
    assert.match(await exchange(gateway.port, without), /^HTTP\/1\.1 403 /)
    const named = request('X-User: alice', 'X-Blocked: 1', 'Connection: close, x-blocked')
    const text = await exchange(gateway.port, named)
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.doesNotMatch(text, /x-blocked/i)
  })
})

describe('the source of a request', () => {
  let gateway: Governed
  before(async () => {
    gateway = await govern(`authorization:
  rules: [{ require: "source.address == '127.0.0.1' || source.address == '::1'" }]
directResponse:
  status: 200
  bodyExpression: "string(source.address)"
`)
  })
  after(() => gateway.close())

  for (const headers of [
    {},
    { 'x-forwarded-for': '10.9.8.7' },
    { 'x-forwarded-for': '10.9.8.7, 127.0.0.1' },
    { forwarded: 'for=10.9.8.7' },
    { 'x-real-ip': '10.9.8.7' },
    { 'true-client-ip': '10.9.8.7' },
  ]) {
    it(`is what the socket says, whatever is sent: ${JSON.stringify(headers)}`, async () => {
      const { status, text } = await gateway.get('/', headers)
      assert.deepEqual([status, text], [200, '127.0.0.1'], 'IPv4 on a socket of IPv6 is IPv4')
    })
  }

  it('an unexpected PROXY header is a malformed request', async () => {
    const proxied = `PROXY TCP4 10.9.8.7 10.0.0.1 1 2\r\n${request('Connection: close')}`
    assert.doesNotMatch(await exchange(gateway.port, proxied), /10\.9\.8\.7/)
  })

  it('IPv6 addresses are IPv6', async (test) => {
    const socket = connect({ port: gateway.port, host: '::1' })
    const text = await new Promise<string | undefined>((resolve) => {
      let all = ''
      socket.on('error', () => resolve(undefined))
      socket.on('data', (chunk) => (all += chunk))
      socket.on('close', () => resolve(all))
      socket.write(request('Connection: close'))
    })
    if (text === undefined || text === '') test.skip('there is no IPv6 here')
    else assert.match(text, /\r\n\r\n::1$/)
  })
})
