import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, programOf } from '../../../test/program/models.ts'

describe('csrf', () => {
  const additionalOrigins = [
    'https://Trusted.example',
    'https://*.sub.example:*',
    'http://[::1]:8080',
  ]
  const program = programOf({ routes: [{ policies: { csrf: { additionalOrigins } } }] })
  const plain = programOf({ routes: [{ policies: { csrf: {} } }] })
  const isAdmitted = async (
    headers: Readonly<Record<string, string>>,
    method = 'POST',
    of = program,
  ) => {
    const { reply, exchange } = await decide(of, { method, host: 'shop.example:8443', headers })
    if (reply === undefined) return true
    assert.deepEqual([reply.status, reply.reason], [403, 'csrf'])
    assert.deepEqual(
      [exchange.rejection?.method, exchange.rejection?.fault],
      ['csrf', 'cross-site'],
    )
    return false
  }

  for (const [method, expected] of [
    ...['GET', 'HEAD', 'OPTIONS', 'TRACE'].map((name) => [name, true] as const),
    ...['POST', 'PUT', 'PATCH', 'DELETE', 'CONNECT', 'get', 'OTHER'].map(
      (name) => [name, false] as const,
    ),
  ]) {
    it(`${method} of another site is ${expected ? 'admitted' : 'rejected'}`, async () => {
      assert.equal(await isAdmitted({ 'sec-fetch-site': 'cross-site' }, method), expected)
    })
  }

  for (const [site, origin, expected] of [
    // A client that sends neither is not a browser.
    [undefined, undefined, true],
    ['same-origin', undefined, true],
    ['none', undefined, true],
    ['same-site', undefined, false],
    ['cross-site', undefined, false],
    ['', undefined, false],
    // Pages cannot set Fetch Metadata: the header takes precedence.
    ['same-origin', 'https://attacker.example', true],
    ['cross-site', 'https://shop.example:8443', false],
    ['same-site', 'https://trusted.example', true],
    ['cross-site', 'https://trusted.example', true],
    [undefined, 'https://trusted.example:443', true],
    [undefined, 'HTTPS://TRUSTED.EXAMPLE', true],
    [undefined, 'http://trusted.example', false],
    [undefined, 'https://trusted.example:444', false],
    [undefined, 'https://trusted.example.attacker.example', false],
    [undefined, 'https://a.sub.example', true],
    [undefined, 'https://a.b.sub.example:9', true],
    [undefined, 'https://sub.example', false],
    [undefined, 'https://a.sub.example.attacker.example', false],
    [undefined, 'https://axsub.example', false],
    [undefined, 'http://[::1]:8080', true],
    [undefined, 'https://shop.example:8443', true],
    [undefined, 'http://Shop.example:8443', true],
    [undefined, 'https://shop.example', false],
    [undefined, 'null', false],
    [undefined, '', false],
    [undefined, 'https://', false],
    [undefined, 'ftp://shop.example:8443', false],
    [undefined, 'https://user@shop.example:8443', false],
    [undefined, 'https://shop.example:8443/path', false],
  ] as const) {
    it(`Sec-Fetch-Site ${site ?? 'absent'}, Origin ${origin ?? 'absent'}: ${expected}`, async () => {
      const headers = {
        ...(site === undefined ? {} : { 'sec-fetch-site': site }),
        ...(origin === undefined ? {} : { origin }),
      }
      assert.equal(await isAdmitted(headers), expected)
    })
  }

  it('compares the host that the client sent, without ports that schemes imply', async () => {
    for (const [host, origin, expected] of [
      ['a.example', 'https://a.example:443', true],
      ['a.example:443', 'https://a.example', true],
      ['A.example:80', 'http://a.example', true],
      ['a.example:80', 'https://a.example', false],
      ['a.example:8', 'http://b.example:8', false],
    ] as const) {
      assert.equal(await isAdmitted({ host, origin }, 'POST', plain), expected, `${host} ${origin}`)
    }
    assert.equal(await isAdmitted({ origin: 'https://trusted.example' }, 'POST', plain), false)
  })
})
