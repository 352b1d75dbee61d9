import assert from 'node:assert/strict'
import type { X509Certificate } from 'node:crypto'
import { describe, it } from 'node:test'
import { clientCertificate } from './client-certificate.ts'

/** A certificate with this subject, as Node parses it. */
function withSubject(subject: Readonly<Record<string, string | readonly string[]>>) {
  return {
    subject: '',
    issuer: 'CN=authority',
    fingerprint256: 'AB:CD',
    toLegacyObject: () => ({ subject }),
  } as unknown as X509Certificate
}

describe('the common name of a client certificate', () => {
  for (const [what, subject, expected] of [
    ['one', { CN: 'alice' }, 'alice'],
    ['none', { O: 'Shop' }, undefined],
    ['several', { CN: ['alice', 'bob'] }, undefined],
    ['an empty one', { CN: '' }, undefined],
  ] as const) {
    it(`${what}: ${expected ?? 'not set'}`, () => {
      assert.equal(clientCertificate(withSubject(subject)).subjectCn, expected)
    })
  }
})
