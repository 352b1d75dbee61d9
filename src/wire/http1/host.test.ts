import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseAuthority } from './host.ts'

describe('an authority', () => {
  for (const [text, host, port] of [
    ['example.com', 'example.com', 0],
    ['EXAMPLE.com:443', 'example.com', 443],
    ['example.com.', 'example.com', 0],
    ['example.com.:80', 'example.com', 80],
    ['my_service.default', 'my_service.default', 0],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', 0],
    ['10.0.0.7:65535', '10.0.0.7', 65535],
    ['[::1]', '[::1]', 0],
    ['[2001:DB8::1]:8080', '[2001:db8::1]', 8080],
    ['[::ffff:10.0.0.7]', '[::ffff:10.0.0.7]', 0],
  ] as const) {
    it(`${text}: ${host}, port ${port}`, () => {
      assert.deepEqual(parseAuthority(text), { host, port })
    })
  }
  for (const text of [
    ...['', '.', 'a..b', '.a', 'a.:', 'a:', 'a:0', 'a:080', 'a:65536', 'a:-1', 'a:1:2', ':80'],
    ...[
      'a b',
      'a,b',
      'a/b',
      'a?b',
      'a#b',
      'a@b',
      'a\\b',
      'a%2eb',
      "a'b",
      'a=b',
      'b\xfccher',
      'a\t',
    ],
    ...['[', '[]', '[a]', '[::1', '::1', '[::1]a', '[::1].', '[fe80::1%25eth0]', '[v1.a:b]'],
    'a'.repeat(263),
  ]) {
    it(`${text === '' ? 'nothing' : text.slice(0, 20)} is none`, () => {
      assert.equal(parseAuthority(text), undefined)
    })
  }
})
