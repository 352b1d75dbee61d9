import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { upstreamConnectionFailures } from '../telemetry/definitions/upstream.ts'
import { connectFailure, failureClass, handshakeFailure } from './connect-failure.ts'

const coded = (code: string) => Object.assign(new Error(code), { code })

describe('reasons of failures', () => {
  for (const [code, word, metric] of [
    ['ECONNREFUSED', 'connect-refused', 'refused'],
    ['ENOENT', 'connect-refused', 'refused'],
    ['EHOSTUNREACH', 'connect-unreachable', 'unreachable'],
    ['ETIMEDOUT', 'connect-timeout', 'timeout'],
    ['ECONNRESET', 'connect-reset', 'reset'],
    ['EMFILE', 'no-descriptors', 'descriptors'],
    ['EADDRNOTAVAIL', 'no-descriptors', 'descriptors'],
    ['EWHATEVER', 'connect-error', 'unreachable'],
  ] as const) {
    it(`connecting, ${code}: ${word}, counted as ${metric}`, () => {
      assert.equal(connectFailure(coded(code)), word)
      assert.equal(failureClass(word), metric)
    })
  }

  for (const [code, word] of [
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls-name'],
    ['CERT_HAS_EXPIRED', 'tls-expired'],
    ['CERT_NOT_YET_VALID', 'tls-expired'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls-untrusted'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls-untrusted'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls-handshake'],
    ['ECONNRESET', 'tls-handshake'],
    ['EPROTO', 'tls-handshake'],
    ['ETIMEDOUT', 'connect-timeout'],
  ] as const) {
    it(`shaking hands, ${code}: ${word}`, () => {
      assert.equal(handshakeFailure(coded(code)), word)
      const reasons = upstreamConnectionFailures.labels[1].values as readonly string[]
      assert.ok(reasons.includes(failureClass(word)))
    })
  }
})
