import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { makeAuthority, WITHOUT_OPENSSL } from '../../../test/tls/certificates.ts'
import { isForbiddenAddress, isInternalHost, type Resolve } from './address-guard.ts'
import { type FetchLimits, keyFetcher } from './fetch-keys.ts'

const KEYS = '{"keys":[]}'

/** Resolves every name to this machine. */
const loopback: Resolve = (_, done) => done(null, [{ address: '127.0.0.1', family: 4 }])

/** Responds according to the path. */
const responses: RequestListener = ({ url = '', headers }, response) => {
  asked.push(url)
  const [, kind = '', detail = ''] = url.split('/')
  const send = (status: number, more: Record<string, string> = {}, body = '') =>
    response.writeHead(status, more).end(body)
  if (kind === 'keys') send(200, {}, KEYS)
  else if (kind === 'cached') send(200, { 'cache-control': decodeURIComponent(detail) }, KEYS)
  else if (kind === 'status') send(Number(detail), {}, KEYS)
  else if (kind === 'long') send(200, {}, 'x'.repeat(Number(detail)))
  else if (kind === 'packed') send(200, { 'content-encoding': 'gzip' }, KEYS)
  else if (kind === 'to') send(302, { location: decodeURIComponent(detail) })
  else if (kind === 'loop') send(307, { location: '/loop' })
  else if (kind === 'cut') response.writeHead(200, { 'content-length': '99' }).write('{')
  else if (kind === 'reset') response.destroy()
  else if (kind === 'headers') send(200, {}, Object.keys(headers).toSorted().join())
}

const asked: string[] = []
let plain: Server
let port = 0

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

async function said(url: string, limits: Partial<FetchLimits> = {}): Promise<string> {
  const fetched = await keyFetcher({ timeout: 2000, ...limits })(url)
  if (fetched.kind !== 'text') return `${fetched.kind}: ${fetched.detail}`
  return `${fetched.text.slice(0, 80)} ${fetched.maxAge}`
}

before(async () => {
  plain = createServer(responses)
  port = await listen(plain)
})

after(() => {
  plain.close()
})

describe('fetching a key set', () => {
  const FETCHES: readonly [path: string, response: string | RegExp][] = [
    ['keys', `${KEYS} undefined`],
    ['cached/max-age=600', `${KEYS} 600000`],
    [`cached/${encodeURIComponent('public, Max-Age=5, must-revalidate')}`, `${KEYS} 5000`],
    ['cached/s-maxage=7', `${KEYS} undefined`],
    ['cached/no-store', `${KEYS} 0`],
    ['status/404', 'failed: status 404'],
    ['status/500', 'failed: status 500'],
    ['status/204', 'failed: status 204'],
    ['status/302', 'failed: status 302'],
    ['long/1000', /^x+ undefined$/],
    ['long/1048577', 'refused: the response is larger than 1048576 bytes'],
    ['packed', 'refused: the response is compressed'],
    ['to/%2Fkeys', `${KEYS} undefined`],
    ['to/%2Fto%2F%252Fkeys', `${KEYS} undefined`],
    ['loop', 'refused: too many redirects'],
    ['to/http%3A%2F%2F', 'refused: redirected to an invalid URL'],
    ['to/http%3A%2F%2F169.254.169.254%2Flatest', /another host: 169\.254\.169\.254/],
    ['to/%2F%2Fevil.example%2Fkeys', /another host: evil\.example/],
    ['to/http%3A%2F%2F127.0.0.1%3A1%2F', /another host: 127\.0\.0\.1:1/],
    ['to/http%3A%2F%2Flocalhost%2F', /another host: localhost/],
    ['to/file%3A%2F%2F%2Fetc%2Fpasswd', /another host/],
    ['reset', /^failed: /],
  ]
  for (const [path, response] of FETCHES) {
    it(`${path}: ${response}`, async () => {
      const text = await said(`http://127.0.0.1:${port}/${path}`)
      if (typeof response === 'string') assert.equal(text, response)
      else assert.match(text, response)
    })
  }

  it('rejects a redirect with credentials to another host', async () => {
    const to = encodeURIComponent(`http://a:b@127.0.0.1:${port}/keys`)
    assert.match(await said(`http://127.0.0.1:${port}/to/${to}`), /another host/)
  })

  for (const path of ['silence', 'cut']) {
    it(`${path} takes no longer than it may`, async () => {
      const url = `http://127.0.0.1:${port}/${path}`
      assert.equal(await said(url, { timeout: 100 }), 'timeout: no response within 100 ms')
    })
  }

  it('fails if the connection is rejected', async () => {
    const server = createServer()
    const free = await listen(server)
    await new Promise((resolve) => server.close(resolve))
    assert.match(await said(`http://127.0.0.1:${free}/`), /^failed: .*ECONNREFUSED/)
  })

  it('sends the issuer only the required headers', async () => {
    assert.equal(await said(`http://127.0.0.1:${port}/headers`), 'accept,connection,host undefined')
  })
})

describe('resolving the name of an issuer', () => {
  it('rejects a private address unless the name is internal', async () => {
    asked.length = 0
    const resolve = loopback
    for (const name of ['issuer.example.com', 'a.b.svc.evil.com', 'localhost.evil.com']) {
      const response = await said(`http://${name}:${port}/keys`, { resolve })
      assert.equal(
        response,
        `refused: ${name} resolves to 127.0.0.1; fetching keys from there is not allowed`,
      )
    }
    assert.deepEqual(asked, [])
    for (const name of ['localhost', 'keycloak', 'keycloak.auth.svc', 'idp.internal']) {
      assert.equal(await said(`http://${name}:${port}/keys`, { resolve }), `${KEYS} undefined`)
    }
  })

  it('rejects a private address even if another one is public', async () => {
    const resolve: Resolve = (_, done) =>
      done(null, [
        { address: '203.0.113.7', family: 4 },
        { address: '10.0.0.1', family: 4 },
      ])
    assert.match(await said('http://issuer.example.com/', { resolve }), /^refused: .*10\.0\.0\.1/)
  })

  it('fails if the name does not resolve', async () => {
    const none: Resolve = (_, done) => done(new Error('ENOTFOUND'), [])
    assert.equal(await said('http://issuer.example.com/', { resolve: none }), 'failed: ENOTFOUND')
  })

  for (const [address, isPublic, isOwn] of [
    ['93.184.216.34', true, true],
    ['2606:2800:220:1::1', true, true],
    ['10.1.2.3', false, true],
    ['172.31.255.255', false, true],
    ['172.32.0.0', true, true],
    ['192.168.0.1', false, true],
    ['100.64.0.1', false, true],
    ['127.0.0.1', false, true],
    ['::1', false, true],
    ['::ffff:10.0.0.1', false, true],
    ['::ffff:169.254.169.254', false, false],
    ['64:ff9b::7f00:1', false, true],
    ['fd12::1', false, true],
    ['169.254.169.254', false, false],
    ['fd00:ec2::254', false, false],
    ['fe80::1', false, false],
    ['fe80::1%eth0', false, false],
    ['0.0.0.0', false, false],
    ['::', false, false],
    ['224.0.0.1', false, false],
    ['255.255.255.255', false, false],
    ['ff02::1', false, false],
    ['nonsense', false, false],
  ] as const) {
    it(`${address}: ${isPublic ? '' : 'not '}for all, ${isOwn ? '' : 'not '}for own names`, () => {
      assert.equal(!isForbiddenAddress(address, false), isPublic)
      assert.equal(!isForbiddenAddress(address, true), isOwn)
    })
  }

  for (const [host, isInternal] of [
    ['127.0.0.1', true],
    ['[::1]', true],
    ['localhost', true],
    ['LOCALHOST.', true],
    ['idp.auth.svc.cluster.local', true],
    ['example.com', false],
    ['internal.example.com', false],
    ['svc.com', false],
  ] as const) {
    it(`${host} is ${isInternal ? '' : 'not '}a name of the own network`, () => {
      assert.equal(isInternalHost(host), isInternal)
    })
  }
})

describe('a key set over TLS', { skip: WITHOUT_OPENSSL }, () => {
  it('requires a trusted certificate for its name', async () => {
    const authority = makeAuthority('issuers')
    const server = createSecureServer(authority.issue({ names: ['DNS:idp.internal'] }), responses)
    const at = await listen(server)
    const limits = { resolve: loopback, ca: authority.cert }
    assert.equal(await said(`https://idp.internal:${at}/keys`, limits), `${KEYS} undefined`)
    assert.match(await said(`https://other.internal:${at}/keys`, limits), /^failed: .*altnames/)
    assert.match(await said(`https://idp.internal:${at}/keys`, { resolve: loopback }), /^failed: /)
    const down = encodeURIComponent(`http://idp.internal:${port}/keys`)
    assert.match(await said(`https://idp.internal:${at}/to/${down}`, limits), /another host/)
    const up = encodeURIComponent(`https://idp.internal:${at}/keys`)
    assert.equal(await said(`http://idp.internal:${port}/to/${up}`, limits), `${KEYS} undefined`)
    await new Promise((resolve) => server.close(resolve))
  })
})
