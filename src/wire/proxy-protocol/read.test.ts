import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { proxyV2, summed, tlv, V4, V6 } from '../../../test/tls/proxy-header.ts'
import { crc32c } from './crc32c.ts'
import { type ProxyOutcome, readProxyHeader } from './read.ts'

function shown(outcome: ProxyOutcome): string {
  if (typeof outcome === 'string') return outcome
  const { source, destination } = outcome.peers ?? {}
  if (source === undefined || destination === undefined) return 'no addresses'
  return `${source.address} ${source.port} ${destination.address} ${destination.port}`
}

describe('the PROXY header of version 1', () => {
  for (const [line, outcome] of [
    ['PROXY TCP4 10.0.0.7 192.0.2.1 12345 443\r\n', '10.0.0.7 12345 192.0.2.1 443'],
    ['PROXY TCP6 2001:db8::7 ::1 12345 443\r\n', '2001:db8::7 12345 ::1 443'],
    ['PROXY TCP6 ::ffff:10.0.0.7 ::1 1 2\r\n', '::ffff:10.0.0.7 1 ::1 2'],
    ['PROXY TCP4 255.255.255.255 0.0.0.0 0 65535\r\n', '255.255.255.255 0 0.0.0.0 65535'],
    ['PROXY UNKNOWN\r\n', 'no addresses'],
    ['PROXY UNKNOWN whatever it says\r\n', 'no addresses'],
    ['PROXY UNKNOWNX\r\n', 'bad-protocol'],
    ['PROXY TCP5 10.0.0.7 192.0.2.1 1 2\r\n', 'bad-protocol'],
    ['PROXY tcp4 10.0.0.7 192.0.2.1 1 2\r\n', 'bad-protocol'],
    ['PROXY \r\n', 'bad-protocol'],
    ['PROXY TCP4 10.0.0.7 192.0.2.1 1\r\n', 'bad-port'],
    ['PROXY TCP4 10.0.0.7 192.0.2.1 1 2 3\r\n', 'bad-line'],
    ['PROXY TCP4 10.0.0.7  192.0.2.1 1 2\r\n', 'bad-line'],
    ['PROXY TCP4 10.0.0.07 192.0.2.1 1 2\r\n', 'bad-address'],
    ['PROXY TCP4 10.0.0.256 192.0.2.1 1 2\r\n', 'bad-address'],
    ['PROXY TCP4 ::1 ::1 1 2\r\n', 'bad-address'],
    ['PROXY TCP6 10.0.0.7 192.0.2.1 1 2\r\n', 'bad-address'],
    ['PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n', 'bad-address'],
    ['PROXY TCP4 10.0.0.7 192.0.2.1 01 2\r\n', 'bad-port'],
    ['PROXY TCP4 10.0.0.7 192.0.2.1 65536 2\r\n', 'bad-port'],
    ['PROXY TCP4 10.0.0.7 192.0.2.1 -1 2\r\n', 'bad-port'],
    ['PROXY TCP4 10.0.0.7 192.0.2.1 1 2\r\r\n', 'bad-line'],
    ['PROXY TCP4 10.0.0.7 192.0.2.1 1 2\n\r\n', 'bad-port'],
    [`PROXY UNKNOWN ${'x'.repeat(91)}\r\n`, 'no addresses'],
    [`PROXY UNKNOWN ${'x'.repeat(92)}\r\n`, 'line-too-long'],
    ['GET / HTTP/1.1\r\n', 'no-header'],
    ['PROXYTCP4', 'no-header'],
    ['proxy TCP4', 'no-header'],
  ] as const) {
    it(`${JSON.stringify(line)}: ${outcome}`, () => {
      const bytes = Buffer.from(line, 'latin1')
      assert.equal(shown(readProxyHeader(bytes, 'All')), outcome)
      assert.equal(shown(readProxyHeader(bytes, 'V1')), outcome)
      assert.equal(readProxyHeader(bytes, 'V2'), 'no-header')
    })
  }
})

describe('the PROXY header of version 2', () => {
  const noop = tlv(4, Buffer.alloc(3))
  const broken = summed(0x11, V4)
  broken.writeUInt32BE(1, broken.length - 4)
  const twice = Buffer.concat([tlv(3, Buffer.alloc(4)), tlv(3, Buffer.alloc(4))])
  const four = '10.0.0.7 12345 192.0.2.1 443'
  for (const [what, bytes, outcome] of [
    ['IPv4', proxyV2(0x21, 0x11, V4), four],
    ['IPv6', proxyV2(0x21, 0x21, V6), '2001:db8:0:0:0:0:0:7 12345 2001:db8:0:0:0:0:0:1 443'],
    ['Unix sockets', proxyV2(0x21, 0x31, Buffer.alloc(216)), 'no addresses'],
    ['no family', proxyV2(0x21, 0, Buffer.alloc(0)), 'no addresses'],
    ['no family, but more', proxyV2(0x21, 0, Buffer.alloc(9)), 'no addresses'],
    ['the proxy itself', proxyV2(0x20, 0, Buffer.alloc(0)), 'no addresses'],
    ['the proxy itself, with addresses', proxyV2(0x20, 0x11, V4), 'no addresses'],
    ['the proxy itself, with anything', proxyV2(0x20, 0xff, Buffer.alloc(7, 1)), 'no addresses'],
    ['datagrams of IPv4', proxyV2(0x21, 0x12, V4), 'bad-family'],
    ['datagrams of IPv6', proxyV2(0x21, 0x22, V6), 'bad-family'],
    ['an unknown family', proxyV2(0x21, 0x41, V4), 'bad-family'],
    ['half a family', proxyV2(0x21, 0x10, V4), 'bad-family'],
    ['version 1 in this form', proxyV2(0x11, 0x11, V4), 'bad-version'],
    ['version 3', proxyV2(0x31, 0x11, V4), 'bad-version'],
    ['an unknown command', proxyV2(0x22, 0x11, V4), 'bad-command'],
    ['too few bytes for the family', proxyV2(0x21, 0x21, V4), 'bad-length'],
    ['an extension', proxyV2(0x21, 0x11, Buffer.concat([V4, noop])), four],
    ['half an extension', proxyV2(0x21, 0x11, Buffer.concat([V4, noop.subarray(0, 2)])), 'bad-tlv'],
    [
      'one beyond the end',
      proxyV2(0x21, 0x11, Buffer.concat([V4, noop.subarray(0, 5)])),
      'bad-tlv',
    ],
    ['a checksum', summed(0x11, V4), four],
    ['a checksum after more', summed(0x11, Buffer.concat([V4, noop])), four],
    ['a wrong checksum', broken, 'bad-checksum'],
    ['two checksums', proxyV2(0x21, 0x11, Buffer.concat([V4, twice])), 'bad-tlv'],
    [
      'a short checksum',
      proxyV2(0x21, 0x11, Buffer.concat([V4, tlv(3, Buffer.alloc(3))])),
      'bad-tlv',
    ],
    ['4,096 bytes', proxyV2(0x20, 0, Buffer.alloc(4096)), 'no addresses'],
    ['4,097 bytes', proxyV2(0x20, 0, Buffer.alloc(4097)), 'too-long'],
  ] as const) {
    it(`${what}: ${outcome}`, () => {
      for (const versions of ['V2', 'All'] as const) {
        const found = readProxyHeader(Buffer.concat([bytes, Buffer.from('GET /')]), versions)
        assert.equal(shown(found), outcome)
        if (typeof found === 'object') assert.equal(found.length, bytes.length)
      }
      assert.equal(readProxyHeader(bytes, 'V1'), 'no-header')
    })
  }
})

describe('partial headers', () => {
  for (const [what, bytes] of [
    ['version 1', Buffer.from('PROXY TCP4 10.0.0.7 192.0.2.1 12345 443\r\n')],
    ['version 2', summed(0x21, V6)],
  ] as const) {
    it(`${what}: waits for the last byte and no longer`, () => {
      for (let end = 0; end < bytes.length; end++)
        assert.equal(readProxyHeader(bytes.subarray(0, end), 'All'), 'more')
      assert.equal(typeof readProxyHeader(bytes, 'All'), 'object')
    })
  }
})

describe('CRC-32C', () => {
  // RFC 3720 §B.4.
  for (const [what, bytes, sum] of [
    ['32 zeros', Buffer.alloc(32), 0x8a9136aa],
    ['32 ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
    ['0 to 31', Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e],
    ['31 to 0', Buffer.from(Array.from({ length: 32 }, (_, i) => 31 - i)), 0x113fdb5c],
  ] as const) {
    it(`${what}: ${sum.toString(16)}`, () => assert.equal(crc32c(bytes), sum))
  }
})
