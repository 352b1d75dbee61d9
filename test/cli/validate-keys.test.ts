import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { idleServices } from '../../src/cli/idle-deps.ts'
import { compileProgram } from '../../src/program/compile.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'

describe('portcullis validate, keys and certificates', { skip: WITHOUT_OPENSSL }, () => {
  const authority = makeAuthority('validate')
  const one = authority.issue({ names: ['DNS:a.test'] })
  const other = authority.issue({ names: ['DNS:a.test'] })
  const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
  const route = 'routes: [{ backends: [{ host: "127.0.0.1:1" }] }]'
  const listener = (cert: string, key: string) =>
    `gateways: { default: { port: 4000, tls: { cert: ${inline(cert)}, key: ${inline(key)} } } }\n${route}`
  const backend = (tls: string) => `gateways: { default: { port: 4000 } }
routes: [{ backends: [{ host: "https://127.0.0.1:1", policies: { backendTLS: { ${tls} } } }] }]`

  for (const [title, text, message] of [
    ['a pair', listener(one.cert, one.key), undefined],
    ['the key of another', listener(one.cert, other.key), 'the key does not match the certificate'],
    ['the two swapped', listener(one.key, one.cert), 'the certificate is not valid PEM'],
    [
      'a certificate as the key',
      listener(one.cert, one.cert),
      'the key is not a PEM private key, or is encrypted',
    ],
    ['an authority of a backend', backend(`root: ${inline(authority.cert)}`), undefined],
    [
      'an authority that is none',
      backend(`root: ${inline(one.key)}`),
      '`root` does not contain a CA certificate',
    ],
    [
      'the key of another, towards a backend',
      backend(`cert: ${inline(one.cert)}, key: ${inline(other.key)}`),
      'the key does not match the certificate',
    ],
  ] as const) {
    it(`${title}: ${message ?? 'fine'}`, async () => {
      const { code, out } = await runWith(['validate', '-'], { readInput: () => text })
      assert.equal(code, message === undefined ? 0 : 1, out)
      if (message !== undefined)
        assert.match(out, new RegExp(`PC0402.*cannot be set up: ${message}[^]*: 1 error`))
    })
  }

  it('a gateway rejects a Model with a key that does not match its certificate towards a backend', () => {
    const text = backend(`cert: ${inline(one.cert)}, key: ${inline(other.key)}`)
    const { value } = loadText(text, 'gateway.yaml', { environment: {} }).result
    assert.ok(value)
    const { diagnostics } = compileProgram(value, undefined, idleServices({ value: 0 }))
    assert.deepEqual(
      diagnostics.map(({ code, severity }) => [code, severity]),
      [['PC0402', 'error']],
    )
  })
})
