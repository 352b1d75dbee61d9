import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  alpn,
  type HelloParts,
  helloMessage,
  inRecords,
  realHello,
  serverName,
  uint,
  vector,
  versions,
} from '../../../test/tls/hello-bytes.ts'
import { type HelloOutcome, HelloReader, MAX_HELLO } from './client-hello.ts'

const read = (bytes: Uint8Array): HelloOutcome => new HelloReader().read(bytes)

describe('ClientHellos of a real client', () => {
  for (const [what, options, name, protocols, newest] of [
    ['with a name', { servername: 'Api.Example.com' }, 'api.example.com', [], 0x0304],
    ['without a name', {}, undefined, [], 0x0304],
    [
      'with protocols',
      { ALPNProtocols: ['h2', 'http/1.1'] },
      undefined,
      ['h2', 'http/1.1'],
      0x0304,
    ],
    ['of TLS 1.2', { servername: 'a.test', maxVersion: 'TLSv1.2' }, 'a.test', [], 0x0303],
  ] as const) {
    it(`${what}: read alike in any portions and any records`, async () => {
      const { ALPNProtocols, ...rest } = { ALPNProtocols: undefined, ...options }
      const list = ALPNProtocols === undefined ? {} : { ALPNProtocols: [...ALPNProtocols] }
      const bytes = await realHello({ ...rest, ...list })
      const outcome = read(bytes)
      assert.ok(typeof outcome === 'object')
      assert.equal(outcome.serverName, name)
      assert.deepEqual(outcome.alpn, protocols)
      assert.equal(Math.max(...outcome.versions), newest)
      const reader = new HelloReader()
      for (let end = 0; end < bytes.length; end++)
        assert.equal(reader.read(bytes.subarray(0, end)), 'more')
      assert.deepEqual(reader.read(bytes), outcome)
      for (const size of [1, 2, 3, 4, 5, 37, 100]) {
        const records = inRecords(bytes.subarray(5), size)
        assert.deepEqual(read(records), outcome)
        const slow = new HelloReader()
        for (let end = 0; end < records.length; end++)
          assert.equal(slow.read(records.subarray(0, end)), 'more')
        assert.deepEqual(slow.read(records), outcome)
      }
    })
  }
})

describe('input that is not a ClientHello', () => {
  const hello = inRecords(helloMessage({ extensions: [serverName('a.test')] }))
  for (const [what, bytes, outcome] of [
    ['nothing yet', Buffer.alloc(0), 'more'],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'not-tls'],
    ['SSH', Buffer.from('SSH-2.0-OpenSSH_9.9\r\n'), 'not-tls'],
    ['a ClientHello of SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1]), 'not-tls'],
    ['one byte of a record', Buffer.from([22]), 'more'],
    ['a version that never was', Buffer.from([22, 4]), 'not-tls'],
    ['another message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]), 'not-tls'],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 1, 0]), 'not-tls'],
    ['an empty fragment', Buffer.from([22, 3, 1, 0, 0]), 'malformed'],
    ['too long a fragment', Buffer.from([22, 3, 1, 0x40, 1]), 'malformed'],
    ['too long a message', Buffer.from([22, 3, 1, 0, 4, 1, 1, 0, 0]), 'malformed'],
    ['an alert in the middle', Buffer.from([22, 3, 1, 0, 1, 1, 21, 3, 1, 0, 1]), 'malformed'],
    ['whole but for one byte', hello.subarray(0, -1), 'more'],
  ] as const) {
    it(`${what}: ${outcome}`, () => assert.equal(read(bytes), outcome))
  }

  it('bytes after it are ignored', () => {
    assert.equal(typeof read(Buffer.concat([hello, Buffer.from('anything')])), 'object')
  })

  it(`no more than ${MAX_HELLO} bytes are waited for`, () => {
    const long = helloMessage({ extensions: [[99, Buffer.alloc(MAX_HELLO)]] })
    assert.equal(read(inRecords(long)), 'malformed')
    const longest = MAX_HELLO - helloMessage({ extensions: [[99, Buffer.alloc(0)]] }).length
    const whole = helloMessage({ extensions: [[99, Buffer.alloc(longest)]] })
    assert.equal(whole.length, MAX_HELLO)
    assert.equal(typeof read(inRecords(whole)), 'object')
  })
})

describe('the contents of a ClientHello', () => {
  const malformed = 'malformed'
  const table: readonly (readonly [string, HelloParts, string | undefined])[] = [
    ['no extensions at all', {}, undefined],
    ['no extensions in their list', { extensions: [] }, undefined],
    ['a name', { extensions: [serverName('a.test')] }, 'a.test'],
    ['a name in capitals', { extensions: [serverName('A.TEST')] }, 'a.test'],
    ['a name with a dot at its end', { extensions: [serverName('a.test.')] }, 'a.test'],
    ['a name with two dots at its end', { extensions: [serverName('a.test..')] }, malformed],
    ['a name with an empty label', { extensions: [serverName('a..test')] }, malformed],
    ['a name with a dot before it', { extensions: [serverName('.test')] }, malformed],
    ['a dot', { extensions: [serverName('.')] }, malformed],
    ['an empty name', { extensions: [serverName('')] }, malformed],
    ['a name with NUL', { extensions: [serverName('a\0.test')] }, malformed],
    ['a name with a space', { extensions: [serverName('a .test')] }, malformed],
    ['a name that is not ASCII', { extensions: [serverName('\xe4.test')] }, malformed],
    ['an address of IPv4', { extensions: [serverName('10.0.0.1')] }, '10.0.0.1'],
    ['an address of IPv6', { extensions: [serverName('::1')] }, malformed],
    ['a name of another kind', { extensions: [serverName('a.test', 1)] }, malformed],
    ['too long a name', { extensions: [serverName('a'.repeat(256))] }, malformed],
    ['two extensions of names', twice(serverName('a.test'), serverName('b.test')), malformed],
    ['twice the same extension', twice([99, uint(1, 1)], [99, uint(1, 1)]), malformed],
    ['two names in one list', { extensions: [[0, twoNames()]] }, malformed],
    ['an empty list of names', { extensions: [[0, vector(2)]] }, malformed],
    ['an empty extension of names', { extensions: [[0, Buffer.alloc(0)]] }, malformed],
    ['no protocol in its list', { extensions: [alpn()] }, malformed],
    ['an empty protocol', { extensions: [alpn('')] }, malformed],
    ['no version in its list', { extensions: [versions()] }, malformed],
    ['half a version', { extensions: [[43, vector(1, uint(3, 1))]] }, malformed],
    ['something behind the extensions', { extensions: [], trailing: uint(0, 1) }, malformed],
    ['a session that is too long', { session: Buffer.alloc(33) }, malformed],
    ['no suites', { suites: Buffer.alloc(0) }, malformed],
    ['half a suite', { suites: Buffer.alloc(3) }, malformed],
    ['no compression', { compressions: Buffer.alloc(0) }, malformed],
    ['a version of its own', { version: 0x0203 }, malformed],
  ]
  for (const [what, parts, outcome] of table) {
    it(`${what}: ${outcome ?? 'no name'}`, () => {
      const found = read(inRecords(helloMessage(parts)))
      assert.equal(typeof found === 'string' ? found : found.serverName, outcome)
    })
  }
})

function twice(
  one: readonly [number, Buffer],
  other: readonly [number, Buffer],
): { extensions: readonly (readonly [number, Buffer])[] } {
  return { extensions: [one, other] }
}

function twoNames(): Buffer {
  const name = (text: string) => Buffer.concat([uint(0, 1), vector(2, Buffer.from(text))])
  return vector(2, name('a.test'), name('b.test'))
}
