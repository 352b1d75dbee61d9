import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { createServer } from 'node:tls'
import { compileProgram } from '../../src/program/compile.ts'
import { Streams } from '../../src/program/streams.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import { TestServices } from '../program/models.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'
import { exchange, listen } from './harness.ts'
import { startWhole } from './whole-gateway.ts'

const RULES = '{ rules: [{ deny: source.port == 1 }] }'
const BACKEND = 'backends: [{ host: "127.0.0.1:1" }]'
const TCP = 'gateways: { default: { port: 4000, protocol: TCP } }'
const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))

function load(text: string) {
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, text)
  return loadFile(file, { environment: {} }).result
}

describe('policies that cannot be enforced for connections are rejected', () => {
  for (const [what, text, codes] of [
    [
      'rules of a route',
      `${TCP}\ntcpRoutes: [{ policies: { authorization: ${RULES} }, ${BACKEND} }]`,
      ['PC0219'],
    ],
    [
      'rules of a backend of it',
      `${TCP}\ntcpRoutes: [{ backends: [{ host: "127.0.0.1:1", policies: { authorization: ${RULES} } }] }]`,
      ['PC0219'],
    ],
    [
      'rules of a named backend, where a route of connections leads there',
      `${TCP}\ntcpRoutes: [{ backends: [{ backend: b }] }]\nbackends: [{ name: b, host: "127.0.0.1:1", policies: { authorization: ${RULES} } }]`,
      ['PC0219'],
    ],
    [
      'rules of the gateway',
      `gateways: { default: { port: 4000, protocol: TCP, authorization: ${RULES} } }\ntcpRoutes: [{ ${BACKEND} }]`,
      ['PC0219'],
    ],
    [
      'rules of a targeted policy',
      `${TCP}\ntcpRoutes: [{ name: a, ${BACKEND} }]\npolicies: [{ name: p, target: { route: a }, backend: { authorization: ${RULES} } }]`,
      ['PC0219'],
    ],
    [
      'rules of a gateway that has listeners of HTTP too are told of',
      `gateways: { default: { port: 4000, listeners: [{ name: a, hostname: a.test, protocol: TLS }, { name: b, hostname: b.test, protocol: HTTPS, tls: { cert: c.pem, key: k.pem } }], authorization: ${RULES} } }`,
      ['PC0221'],
    ],
    [
      'how to connect holds',
      `${TCP}\ntcpRoutes: [{ policies: { tcp: { connectTimeout: 1s } }, ${BACKEND} }]`,
      [],
    ],
    [
      'network authorization holds',
      `${TCP}\nfrontendPolicies: { networkAuthorization: ${RULES} }\ntcpRoutes: [{ ${BACKEND} }]`,
      [],
    ],
  ] as const) {
    it(what, () => {
      const { diagnostics } = load(text)
      const reported = diagnostics
        .map(({ code }) => code)
        .filter((code) => /PC02(19|21)/.test(code))
      assert.deepEqual(reported, codes)
    })
  }
})

describe('connections with a Model that was not read from a file', () => {
  const text = `${TCP}\ntcpRoutes: [{ policies: { authorization: ${RULES} }, ${BACKEND} }]`
  const model = () => load(text).value ?? assert.fail()

  it('the program reports the same error', () => {
    const { diagnostics } = compileProgram(model(), undefined, new TestServices())
    assert.deepEqual(
      diagnostics.map(({ code, severity }) => `${severity} ${code}`),
      ['error PC0219'],
    )
  })

  it('no connection is allowed', () => {
    const services = new TestServices()
    const program = compileProgram(model(), undefined, services)
    const streams = new Streams(model(), services, undefined)
    const [listener = assert.fail()] = program.listeners
    assert.equal(streams.choose(listener, { sni: undefined } as never, []), 'invalid-policy')
    assert.deepEqual(services.opened, [])
  })
})

it('policies of a reference to a backend apply to connections', {
  skip: WITHOUT_OPENSSL,
}, async () => {
  const { cert, key } = makeAuthority('authority').issue({ names: ['DNS:localhost'] })
  const server = createServer({ cert, key }, (socket) => socket.end('by TLS'))
  server.on('tlsClientError', () => {})
  const [backend, port] = await Promise.all([listen(server), free()])
  const gateway = await startWhole(`
gateways: { default: { port: ${port}, protocol: TCP } }
tcpRoutes:
- backends: [{ host: "localhost:${backend}", policies: { backendTLS: { insecure: true } } }]
`)
  try {
    assert.equal(await exchange(port, 'hello'), 'by TLS')
  } finally {
    await gateway.stop()
    server.close()
  }
})
