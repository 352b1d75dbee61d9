import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { normalisePath } from './path.ts'
import { rejectionOf } from './rejections.ts'

describe('paths that are normalized the same for rules, routes and upstreams', () => {
  for (const [path, expected] of [
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a/b/', '/a/b/'],
    ['/a.b/c..d/...', '/a.b/c..d/...'],
    ['/x/../admin', '/admin'],
    ['/x/%2e%2E/admin', '/admin'],
    ['/x/.%2e/admin', '/admin'],
    ['/./admin', '/admin'],
    ['/%2e/admin', '/admin'],
    ['/admin/.', '/admin/'],
    ['/admin/x/..', '/admin/'],
    ['/..', '/'],
    ['/../../../etc/passwd', '/etc/passwd'],
    ['/a/b/c/../../d', '/a/d'],
    ['/%61dmin', '/admin'],
    ['/%41%2d%5F%7e%30', '/A-_~0'],
    ['/a%3ab%c3%a9', '/a%3Ab%C3%A9'],
    ['/%252e%252e/admin', '/%252e%252e/admin'],
    ['/%25%32%65', '/%252e'],
    ['/a%20b%0d%0a', '/a%20b%0D%0A'],
    [
      '/%C3%80/%e0%a4%85/%F0%9F%98%80/%E9t%E9/%25C0%25AF',
      '/%C3%80/%E0%A4%85/%F0%9F%98%80/%E9t%E9/%25C0%25AF',
    ],
    ['//admin', '/admin'],
    ['///admin//x///', '/admin/x/'],
    ['//', '/'],
    ['/a//b', '/a/b'],
    ['/a//../b', '/a/b'],
    ['/a/..//b', '/b'],
    ['/.//admin', '/admin'],
    ['/x/..//admin', '/admin'],
    ['/%2e%2e//admin', '/admin'],
    ['//%61dmin', '/admin'],
    ['/a/;//b', '/a/;/b'],
    ['/a;x=1/b;y', '/a;x=1/b;y'],
    ['/a;/../b', '/b'],
    ['/a;..;/b', '/a;..;/b'],
    ['/.hidden/..x/.y.', '/.hidden/..x/.y.'],
    ['/a|b"c<d>e^f`g{h}', '/a|b"c<d>e^f`g{h}'],
  ] as const) {
    it(`${path}: ${expected}`, () => assert.equal(normalisePath(path), expected))
  }
})

describe('paths that keep repeated slashes', () => {
  for (const [path, expected] of [
    ['//admin', '//admin'],
    ['/a//b', '/a//b'],
    ['/a//../b', '/a/b'],
    ['/a/..//b', '//b'],
    ['/a/./b', '/a/b'],
    ['/%61//b', '/a//b'],
  ] as const) {
    it(`${path}: ${expected}`, () => assert.equal(normalisePath(path, true), expected))
  }
})

describe('ambiguous paths', () => {
  for (const [path, word] of [
    ['', 'bad-path'],
    ['a', 'bad-path'],
    ['*', 'bad-path'],
    ['/a%2fb', 'encoded-slash'],
    ['/a%2Fb', 'encoded-slash'],
    ['/x/..%2fadmin', 'encoded-slash'],
    ['/a\\b', 'backslash-in-path'],
    ['/..\\admin', 'backslash-in-path'],
    ['/a%5Cb', 'backslash-in-path'],
    ['/a%5cb', 'backslash-in-path'],
    ['/a%00', 'nul-in-path'],
    ['/a\0', 'nul-in-path'],
    ['/a%', 'bad-percent'],
    ['/a%4', 'bad-percent'],
    ['/a%zz', 'bad-percent'],
    ['/a%u0041', 'bad-percent'],
    ['/a%%', 'bad-percent'],
    ['/x/%c0%ae%c0%ae/admin', 'bad-percent'],
    ['/x/..%C0%AFadmin', 'bad-percent'],
    ['/x/..%e0%80%afadmin', 'bad-percent'],
    ['/x/..%f0%80%80%afadmin', 'bad-percent'],
    ['/a b', 'bad-path'],
    ['/a\tb', 'bad-path'],
    ['/a\r\nb', 'bad-path'],
    ['/a\x7f', 'bad-path'],
    ['/\xe9', 'bad-path'],
    ['/\u0161', 'bad-path'],
    ['/a%\u0161\u0161', 'bad-percent'],
    ['/a?b', 'bad-path'],
    ['/a#b', 'bad-path'],
    ['/x/..;/admin', 'parameter-of-dot-segment'],
    ['/x/..;a=b/admin', 'parameter-of-dot-segment'],
    ['/x/%2e%2e;/admin', 'parameter-of-dot-segment'],
    ['/x/..%3b/admin', 'parameter-of-dot-segment'],
    ['/.;/admin', 'parameter-of-dot-segment'],
  ] as const) {
    it(`${JSON.stringify(path)}: ${word}`, () => {
      const rejected = normalisePath(path)
      assert.equal(typeof rejected === 'number' ? rejectionOf(rejected).word : rejected, word)
    })
  }
})

describe('a path that is already normalized', () => {
  it('is returned as the same string', () => {
    const path = `/api/v1/items/${'x'.repeat(20)}`
    assert.ok(Object.is(normalisePath(path), path))
  })
})
