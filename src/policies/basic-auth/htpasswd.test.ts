import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../test/fuzz/any-text.ts'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { checkPassword } from './check-password.ts'
import { parseHash, parseHtpasswd } from './htpasswd.ts'

/** The password is `secret`; made by htpasswd, openssl and argon2. */
const HASHES: Readonly<Record<string, string>> = {
  bcrypt: '$2b$04$1aSQi0zeoGLPNdWUFwboX.0ESVMy4jb5EmGeapCM4ZY3xP48c.uGW',
  sha1: '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=',
  apr1: '$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0',
  sha256: '$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA',
  sha512:
    '$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1',
  'sha256 with rounds':
    '$5$rounds=1400$anotherlongsalts$hA9phAhHgeqcKTycY/LRKamQM18d5P2uD0VRrWGWMX6',
}

describe('a hash of htpasswd', () => {
  for (const [kind, text] of Object.entries(HASHES)) {
    it(`${kind} is checked`, () => {
      const hash = parseHash(text)
      assert.ok(typeof hash === 'object', String(hash))
      assert.equal(checkPassword('secret', hash), true)
      assert.equal(checkPassword('Secret', hash), false)
      assert.equal(checkPassword('', hash), false)
    })
  }

  // RFC 9106 has no vector without a secret; this one is of the reference implementation's tests.
  it('argon2 is checked', () => {
    const hash = parseHash(
      '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    )
    assert.ok(typeof hash === 'object', String(hash))
    assert.equal(checkPassword('password', hash), true)
    assert.equal(checkPassword('passwort', hash), false)
  })

  for (const [what, text, expected] of [
    ['plain text', 'secret', /unsupported/],
    ['old crypt', 'rqXexS6ZhobKA', /unsupported/],
    ['a bcrypt that takes minutes', `$2y$20$${'a'.repeat(53)}`, /cost 20/],
    ['an argon2 that takes all memory', '$argon2id$v=19$m=4194304,t=1,p=1$c29tZXNhbHQ$Zm9v', /KiB/],
    ['an argon2 that takes minutes', '$argon2id$v=19$m=65536,t=99999,p=1$c29tZXNhbHQ$Zm9v', /many/],
    ['an old argon2', '$argon2i$v=16$m=65536,t=2,p=1$c29tZXNhbHQ$Zm9v', /version 16/],
    [
      'an argon2 without passes',
      '$argon2i$v=19$m=65536,t=0,p=1$c29tZXNhbHQ$Zm9v',
      /inconsistent argon2/,
    ],
    ['a million rounds', '$6$rounds=1000000$salt$x', /rounds/],
    ['the bcrypt that was broken', `$2x$05$${'a'.repeat(53)}`, /unsupported/],
  ] as const) {
    it(`${what} is rejected`, () => assert.match(String(parseHash(text)), expected))
  }
})

describe('the text of htpasswd', () => {
  it('has a user on each line, and what is wrong with others is told', () => {
    const { byName, faults } = parseHtpasswd(
      `# users\nalice:${HASHES['sha1']}\r\n\nbob:secret\nalice:${HASHES['sha1']}\n:${HASHES['sha1']}\ncarol\n`,
    )
    assert.deepEqual([...byName.keys()], ['alice'])
    assert.deepEqual(
      faults.map(({ line }) => line),
      [4, 5, 6, 7],
    )
  })

  it('never throws, and takes no user from what is none', () => {
    const property = fc.property(anyText({ maxLength: 200 }), (text) => {
      assert.equal(parseHtpasswd(text).byName.size, 0)
    })
    fc.assert(property, fuzz(1))
  })
})
