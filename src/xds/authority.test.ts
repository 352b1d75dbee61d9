import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { connect, createServer } from 'node:tls'
import { AuthorityError, type AuthoritySecret, authorityFrom } from './authority.ts'
import { makeAuthority, makeServingCertificate } from './certificate.ts'

const HOSTS = ['portcullis.portcullis-system.svc', 'localhost', '127.0.0.1', '::1']
const NOW = Date.now()
const DAY = 24 * 60 * 60 * 1000
const VALID = { from: NOW - DAY, to: NOW + DAY }

/** Whether a client that trusts `trust` accepts a server with `serving`, in a real handshake. */
async function isTrusted(
  trust: string,
  serving: { readonly cert: string; readonly key: string },
  servername = 'localhost',
): Promise<boolean> {
  const server = createServer(serving, (socket) => socket.end())
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, ca: trust, servername })
  const outcome = await Promise.race([
    once(socket, 'secureConnect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  server.close()
  return outcome
}

describe('a generated certificate', () => {
  const authority = makeAuthority('test', VALID)

  it('is valid for its names only', async () => {
    const serving = makeServingCertificate(authority, HOSTS, VALID)
    const made = new X509Certificate(serving.cert)
    assert.ok(made.checkIssued(new X509Certificate(authority.cert)))
    assert.equal(made.checkIP('::1'), '::1')
    for (const host of HOSTS.slice(0, 2)) {
      assert.ok(await isTrusted(authority.cert, serving, host), host)
    }
    assert.ok(!(await isTrusted(authority.cert, serving, 'portcullis.other.svc')))
    assert.ok(!made.ca)
  })

  it('is valid for addresses in any form', () => {
    const addresses = [
      ...['10.0.0.1', '255.255.255.255', '0.0.0.0', '::', '::1', '1::', 'fe80::', '1::8'],
      ...['2001:db8::8:800:200c:417a', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4', '2001:DB8:0:0::1'],
    ]
    for (const address of addresses) {
      const serving = makeServingCertificate(authority, [address], VALID)
      const own = new X509Certificate(serving.cert)
      for (const other of addresses) {
        const expected = other === address ? address : undefined
        assert.equal(own.checkIP(other), expected, `${address}: ${other}`)
      }
    }
  })

  it('has dates before and after 2050', () => {
    const far = makeAuthority('test', { from: Date.UTC(2049, 11, 31), to: Date.UTC(2050, 0, 2) })
    const { validFrom, validTo } = new X509Certificate(far.cert)
    assert.equal(Date.parse(validFrom), Date.UTC(2049, 11, 31))
    assert.equal(Date.parse(validTo), Date.UTC(2050, 0, 2))
  })

  it('supports names of any length', () => {
    const hosts = Array.from({ length: 200 }, (_, n) => `${'x'.repeat(60)}${n}.example.com`)
    const { cert } = makeServingCertificate(authority, hosts, VALID)
    assert.ok(new X509Certificate(cert).checkHost(hosts[199] as string))
  })
})

describe('the delivery authority', () => {
  it('is created once, and kept', async () => {
    const first = authorityFrom(undefined, HOSTS, NOW)
    assert.ok(first.write)
    assert.ok(await isTrusted(first.trust, first.serving))
    const again = authorityFrom(first.write, HOSTS, NOW + 5 * DAY)
    assert.equal(again.write, undefined)
    assert.equal(again.trust, first.trust)
    assert.ok(first.renewAt > NOW && first.renewAt < NOW + DAY)
    // The certificate of another replica is trusted, too.
    assert.ok(await isTrusted(first.trust, authorityFrom(first.write, HOSTS, NOW).serving))
  })

  it('is replaced before it expires, without a certificate that proxies do not trust', () => {
    let secret: AuthoritySecret | undefined
    const trusts: { readonly at: number; readonly trust: string }[] = []
    let rotations = 0
    const trusting = (trust: string, cert: string) =>
      (trust.match(/-----BEGIN[\s\S]*?-----END CERTIFICATE-----/g) ?? []).some((pem) =>
        new X509Certificate(cert).verify(new X509Certificate(pem).publicKey),
      )
    // Rarely, and four times a day around the time of the rotation.
    const years = (count: number) => NOW + count * 365 * DAY
    const times = [1, 5, 8].map(years)
    for (let at = years(9) - DAY; at < years(9) + 3 * DAY; at += DAY / 4) times.push(at)
    for (const at of [NOW, ...times, ...[12, 16].map(years)]) {
      const { trust, serving, write } = authorityFrom(secret, HOSTS, at)
      if (write !== undefined) {
        if (secret !== undefined && write['ca.crt'] !== secret['ca.crt']) rotations++
        secret = write
      }
      const { validTo } = new X509Certificate(serving.cert)
      assert.ok(Date.parse(validTo) > at)
      // A proxy learns about certificates up to 18 hours late.
      const late = trusts.findLast((known) => known.at <= at - 0.75 * DAY)
      for (const known of [late?.trust ?? trust, trust]) assert.ok(trusting(known, serving.cert))
      trusts.push({ at, trust })
    }
    assert.equal(rotations, 1)
  })

  it('may be supplied, with a key of any kind, and is then never changed', async () => {
    const own = makeAuthority('own', VALID)
    const rsa = rsaAuthority()
    for (const secret of [
      { 'ca.crt': own.cert, 'ca.key': own.key },
      { 'tls.crt': own.cert, 'tls.key': own.key },
      { 'tls.crt': rsa.cert, 'tls.key': rsa.key, 'ca.crt': rsa.cert },
    ]) {
      const { trust, serving, write } = authorityFrom(secret, HOSTS, NOW)
      assert.equal(write, undefined)
      assert.ok(await isTrusted(trust, serving))
    }
  })

  it('may be external: a server certificate is used as it is', async () => {
    const own = makeAuthority('own', VALID)
    const served = makeServingCertificate(own, ['localhost'], VALID)
    const secret = { 'ca.crt': own.cert, 'tls.crt': served.cert, 'tls.key': served.key }
    const { trust, serving } = authorityFrom(secret, HOSTS, NOW)
    assert.equal(serving.cert, served.cert)
    assert.ok(await isTrusted(trust, serving))
  })

  const own = makeAuthority('own', VALID)
  const other = makeAuthority('other', VALID)
  const leaf = makeServingCertificate(own, ['localhost'], VALID)
  const cases: readonly (readonly [string, AuthoritySecret])[] = [
    ['a key of another certificate', { 'ca.crt': own.cert, 'ca.key': other.key }],
    ['a key without a certificate', { 'ca.key': own.key }],
    ['no PEM', { 'ca.crt': 'x', 'ca.key': 'y' }],
    [
      'a certificate of a server without its authority',
      { 'tls.crt': leaf.cert, 'tls.key': leaf.key },
    ],
    ['neither', { password: 'x' }],
  ]
  for (const [what, secret] of cases) {
    it(`a Secret with ${what} is rejected, and not overwritten`, () => {
      assert.throws(() => authorityFrom(secret, HOSTS, NOW), AuthorityError)
    })
  }

  it('is rejected if supplied and expired', () => {
    const secret = { 'ca.crt': own.cert, 'ca.key': own.key }
    assert.throws(() => authorityFrom(secret, HOSTS, NOW + 2 * DAY), AuthorityError)
  })
})

/** As cert-manager creates it. */
function rsaAuthority() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return makeAuthority('rsa', VALID, key)
}
