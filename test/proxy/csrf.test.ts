import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Governed, govern } from './governed.ts'
import { exchange } from './harness.ts'

const POLICIES = `csrf:
  additionalOrigins: [https://partner.example, 'https://*.trusted.example']
authorization:
  rules: [{ deny: "request.path == '/denied'" }]
`

describe('csrf', () => {
  let gateway: Governed
  before(async () => {
    gateway = await govern(POLICIES)
  })
  after(() => gateway.close())

  /** Raw, because fetch() sets such headers itself. */
  async function statusOf(method: string, headers: readonly string[], host = 'shop.example') {
    const lines = headers.map((line) => `${line}\r\n`).join('')
    const head = `${method} / HTTP/1.1\r\nhost: ${host}\r\n${lines}content-length: 0\r\nconnection: close\r\n\r\n`
    const text = await exchange(gateway.port, head, '\r\n\r\n')
    return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
  }

  for (const [what, method, headers, status] of [
    ['no browser', 'POST', [], 200],
    ['the same origin', 'POST', ['sec-fetch-site: same-origin'], 200],
    ['typed by the user', 'POST', ['sec-fetch-site: none'], 200],
    ['another site', 'POST', ['sec-fetch-site: cross-site', 'origin: https://evil.example'], 403],
    [
      'another site, PUT',
      'PUT',
      ['sec-fetch-site: cross-site', 'origin: https://evil.example'],
      403,
    ],
    ['a neighbour', 'DELETE', ['sec-fetch-site: same-site', 'origin: https://x.shop.example'], 403],
    ['another site without an origin', 'POST', ['sec-fetch-site: cross-site'], 403],
    ['a word nobody knows', 'POST', ['sec-fetch-site: sideways'], 403],
    ['two words', 'POST', ['sec-fetch-site: cross-site', 'sec-fetch-site: same-origin'], 403],
    [
      'a listed site',
      'POST',
      ['sec-fetch-site: cross-site', 'origin: https://partner.example'],
      200,
    ],
    ['below a listed name', 'POST', ['origin: https://a.b.trusted.example'], 200],
    ['the listed name itself', 'POST', ['origin: https://trusted.example'], 403],
    ['a listed site on HTTP', 'POST', ['origin: http://partner.example'], 403],
    [
      'the same host on plain HTTP, as the browser sees it',
      'POST',
      ['sec-fetch-site: cross-site', 'origin: http://shop.example'],
      403,
    ],
    ['an old browser', 'POST', ['origin: https://shop.example'], 200],
    ['an old browser on HTTP', 'POST', ['origin: http://shop.example'], 200],
    ['an old browser, another port', 'POST', ['origin: https://shop.example:8443'], 403],
    ['an old browser, the usual port', 'POST', ['origin: https://shop.example:443'], 200],
    ['an old browser, another site', 'POST', ['origin: https://evil.example'], 403],
    ['a name that ends alike', 'POST', ['origin: https://evilshop.example'], 403],
    ['a name that begins alike', 'POST', ['origin: https://shop.example.evil.example'], 403],
    ['a user in the origin', 'POST', ['origin: https://shop.example@evil.example'], 403],
    ['an opaque origin', 'POST', ['origin: null'], 403],
    ['no origin at all', 'POST', ['origin: '], 403],
    ['two origins', 'POST', ['origin: https://shop.example', 'origin: https://evil.example'], 403],
    ['a link', 'GET', ['sec-fetch-site: cross-site', 'origin: https://evil.example'], 200],
    ['an image', 'HEAD', ['sec-fetch-site: cross-site'], 200],
    ['a method that only looks safe', 'get', ['sec-fetch-site: cross-site'], 400],
    ['a method of its own', 'PURGE', ['sec-fetch-site: cross-site'], 403],
  ] as const) {
    it(`${what}: ${method} is ${status}`, async () => {
      assert.equal(await statusOf(method, headers), status)
    })
  }

  it('also compares the port of the request', async () => {
    const origin = ['origin: https://shop.example:8443']
    assert.equal(await statusOf('POST', origin, 'SHOP.example:8443'), 200)
    assert.equal(await statusOf('POST', ['origin: https://shop.example'], 'shop.example:443'), 200)
    assert.equal(await statusOf('POST', ['origin: https://shop.example'], 'shop.example:80'), 403)
  })

  it('is a separate reason in log and metrics, and admits nothing that a rule denies', async () => {
    const before = gateway.lines.length
    await statusOf('POST', ['origin: https://evil.example'])
    assert.equal(gateway.lines[before]?.['reason'], 'csrf')
    assert.match(gateway.metrics(), /reason="csrf"/)
    const { status } = await gateway.get('/denied', { 'sec-fetch-site': 'same-origin' })
    assert.equal(status, 403)
  })

  it('is recorded with the policy', async () => {
    const records = gateway.records.length
    assert.equal(await statusOf('POST', ['sec-fetch-site: cross-site']), 403)
    const [record, ...others] = gateway.records.slice(records)
    assert.deepEqual(others, [])
    const { kind, cause, verdict, enforced, credentials, status } = record ?? {}
    assert.deepEqual(
      [kind, cause, verdict, enforced, credentials?.kind, status],
      ['csrf', 'cross-site', 'denied', true, 'csrf', 403],
    )
  })
})
