import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'
import { makeAuthority } from './suite/certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))
const JWKS = '{"keys":[]}'
const run = (args: readonly string[]) => runWith(args)

describe('explain at a listener that requests certificates', () => {
  const { cert, key } = makeAuthority('authority').issue('a.test', ['DNS:a.test'])
  const path = join(folder, 'certificates.yaml')
  const listener = (port: number, clients: string) =>
    `{ port: ${port}, tls: { cert: cert, key: key${clients} } }`
  const ID = 'spiffe://td.test/ns/a'

  before(() => {
    for (const [name, text] of Object.entries({ cert, key }))
      writeFileSync(join(folder, name), text)
    writeFileSync(
      path,
      `gateways:
  strict: ${listener(8443, ', root: cert')}
  lax: ${listener(8444, ', root: cert, clientCertificates: Optional')}
  none: ${listener(8445, '')}
  plain: { port: 8080 }
frontendPolicies:
  networkAuthorization: { rules: [{ deny: "source.address == '10.0.0.1'" }] }
routes:
- name: open
  gateways: [strict, lax, none, plain]
  matches: [{ path: { exact: /open } }]
  backends: [{ host: 'a:80' }]
- name: own
  gateways: [strict, lax, none, plain]
  matches: [{ path: { exact: /own } }]
  policies: { authorization: { rules: [{ allow: "source.identity == '${ID}'" }] } }
  backends: [{ host: 'a:80' }]
- name: named
  gateways: [strict]
  matches: [{ path: { exact: /named } }]
  policies: { authorization: { rules: [{ allow: "'a.test' in source.subjectAltNames" }] } }
  backends: [{ host: 'a:80' }]
`,
    )
  })

  const at = (gateway: string, ...args: readonly string[]) =>
    run(['explain', '-f', path, '--listener', gateway, ...args])

  it('without a certificate, closes the connection only if one is required', async () => {
    const { code, out } = await at('strict', '-r', '/open')
    assert.equal(code, 1)
    assert.match(out, /^closed \(client-certificate-missing\)\n.*--certificate or --identity/)
    const json = JSON.parse((await at('strict', '-r', '/open', '--json')).out)
    assert.deepEqual([json.outcome, json.gateway, json.stages], ['closed', 'strict', []])
    for (const gateway of ['lax', 'none', 'plain'])
      assert.equal((await at(gateway, '-r', '/open')).code, 0, gateway)
  })

  it('evaluates source rules first', async () => {
    const { code, out } = await at('strict', '-r', '/open', '--source', '10.0.0.1')
    assert.equal(code, 1)
    assert.match(out, /connection {2}denied \(matched\)/)
  })

  it('accepts any certificate in the handshake, and rules read its contents', async () => {
    assert.equal((await at('strict', '-r', '/open', '--certificate', '{}')).code, 0)
    assert.equal((await at('strict', '-r', '/own', '--certificate', '{}')).code, 1)
    assert.equal((await at('strict', '-r', '/own', '--identity', ID)).code, 0)
    const names = (...all: readonly string[]) => JSON.stringify({ subjectAltNames: all })
    assert.equal((await at('strict', '-r', '/own', '--certificate', names(ID))).code, 0)
    const two = names(ID, 'spiffe://td.test/ns/b')
    assert.equal((await at('strict', '-r', '/own', '--certificate', two)).code, 1)
    assert.equal((await at('strict', '-r', '/named', '--certificate', names('a.test'))).code, 0)
    assert.equal((await at('strict', '-r', '/named', '--certificate', names('b.test'))).code, 1)
  })

  it('allows an empty server name only if the listener has no hostname', async () => {
    const text = (hostname: string) =>
      `gateways: { default: { port: 8443, listeners: [{ name: l, ${hostname}tls: { cert: cert, key: key } }] } }\nroutes: [{ name: r, backends: [{ host: 'a:80' }] }]\n`
    const own = join(folder, 'sni.yaml')
    const args = ['explain', '-f', own, '-H', 'host: a.test', '--sni']
    writeFileSync(own, text('hostname: a.test, '))
    assert.equal((await run([...args, 'a.test'])).code, 0)
    const { code, out } = await run([...args, ''])
    assert.equal(code, 1)
    assert.match(out, /^closed \(no-listener\)/)
    writeFileSync(own, text(''))
    assert.equal((await run([...args, ''])).code, 0)
  })

  it('rules see no certificate if none is requested', async () => {
    assert.equal((await at('lax', '-r', '/own', '--identity', ID)).code, 0)
    for (const gateway of ['none', 'plain']) {
      const { code, out } = await at(gateway, '-r', '/own', '--identity', ID)
      assert.equal(code, 1, gateway)
      assert.match(out, /does not request client certificates/)
    }
  })

  for (const [what, args] of [
    ['an identity that no certificate gives', ['--identity', 'other']],
    ['a certificate of something else', ['--certificate', '{"name":"a"}']],
    ['names that are none', ['--certificate', '{"subjectAltNames":[1]}']],
    ['one name as a list', ['--certificate', '{"subjectAltNames":"a"}']],
  ] as const) {
    it(`rejects ${what}`, async () => {
      assert.equal((await at('strict', '-r', '/open', ...args)).code, 2)
    })
  }
})

describe('explain and tokens that a policy does not accept', () => {
  const path = join(folder, 'tokens.yaml')
  before(() => {
    const route = (mode: string) => `- name: ${mode}
  matches: [{ path: { exact: /${mode} } }]
  policies:
    jwtAuthentication:
      mode: ${mode}
      issuer: https://j.test
      audiences: [shop]
      jwks: { inline: '${JWKS}' }
    authorization: { rules: [{ allow: "jwt['sub'] != 'carol'" }] }
  backends: [{ host: 'a:80' }]
`
    const routes = ['Strict', 'Optional', 'Permissive'].map(route).join('')
    writeFileSync(path, `gateways: { default: { port: 8080 } }\nroutes:\n${routes}`)
  })

  for (const [what, claims, isTaken] of [
    ['none said of either', { sub: 'a' }, true],
    ['its issuer', { iss: 'https://j.test', sub: 'a' }, true],
    ['another issuer', { iss: 'https://i.test', sub: 'a' }, false],
    ['an issuer that is no text', { iss: ['https://j.test'], sub: 'a' }, false],
    ['its audience', { aud: 'shop', sub: 'a' }, true],
    ['its audience among others', { aud: ['x', 'shop'], sub: 'a' }, true],
    ['another audience', { aud: ['x'], sub: 'a' }, false],
    ['audiences that are no texts', { aud: ['shop', 1], sub: 'a' }, false],
    ['times', { exp: 1, nbf: 0.5, iat: 1, sub: 'a' }, true],
    ['an end that is no number', { exp: '4000000000', sub: 'a' }, false],
    ['a beginning that is none', { nbf: null, sub: 'a' }, false],
    ['milliseconds', { exp: 4_000_000_000_000, sub: 'a' }, false],
    ['an end before the token was made', { exp: 1, iat: 2, sub: 'a' }, false],
  ] as const) {
    it(what, async () => {
      const said = async (mode: string) => {
        const args = ['-r', `/${mode}`, '--claims', JSON.stringify(claims), '--json']
        const { code, out } = await run(['explain', '-f', path, ...args])
        const { status, notes } = JSON.parse(out)
        return [code, status, notes.length]
      }
      const taken = [0, undefined, 0]
      assert.deepEqual(await said('Strict'), isTaken ? taken : [1, 401, 0])
      assert.deepEqual(await said('Optional'), isTaken ? taken : [1, 401, 0])
      assert.deepEqual(await said('Permissive'), isTaken ? taken : [1, 403, 1])
    })
  }
})

describe('explain --listener', () => {
  const path = join(folder, 'names.yaml')
  before(() =>
    writeFileSync(
      path,
      `gateways:
  default: { port: 8080, listeners: [{ name: l0, hostname: a.test }, { name: l1 }] }
  edge: { port: 8081 }
  far: { port: 8082, listeners: [{ name: l1 }, { name: edge, hostname: b.test }] }
  away: { port: 8083 }
routes:
- { name: r, gateways: [default, edge, far, away], backends: [{ host: 'a:80' }] }
`,
    ),
  )

  const named = (name: string, ...args: readonly string[]) =>
    run(['explain', '-f', path, '--listener', name, '--json', ...args])

  for (const [name, host, place] of [
    ['default', 'a.test', 'default/l0'],
    ['default', 'b.test', 'default/l1'],
    ['default/l1', 'b.test', 'default/l1'],
    ['edge', 'b.test', 'edge/default'],
    ['far/edge', 'b.test', 'far/edge'],
    ['away/default', 'b.test', 'away/default'],
    ['l0', 'a.test', 'default/l0'],
  ] as const) {
    it(`${name} and ${host} are ${place}`, async () => {
      const { gateway, listener } = JSON.parse((await named(name, '-H', `host: ${host}`)).out)
      assert.equal(`${gateway}/${listener}`, place)
    })
  }

  it('requires a gateway if listeners of several gateways have the name', async () => {
    const { code, err } = await named('l1')
    assert.equal(code, 2)
    assert.match(err, /listener name l1 is ambiguous; use one of: default\/l1, far\/l1/)
  })
})
