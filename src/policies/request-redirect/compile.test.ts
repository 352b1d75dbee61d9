import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Asked } from '../../../test/fuzz/exchanges.ts'
import { decide, headersOf, programOf } from '../../../test/program/models.ts'

async function redirect(policy: object, asked: Asked, prefix = '/') {
  const program = programOf({
    routes: [
      {
        matches: [{ path: { kind: 'prefix', value: prefix } }],
        policies: { requestRedirect: policy },
      },
    ],
  })
  const { reply } = await decide(program, asked)
  return `${reply?.status} ${headersOf(reply)['location']}`
}

describe('requestRedirect: scheme, host and port as the Gateway API has them', () => {
  for (const [policy, asked, expected] of [
    [{}, {}, '302 http://example.com/'],
    [{ status: 301 }, {}, '301 http://example.com/'],
    [{ status: 308, scheme: 'https' }, { url: '/a?b=c' }, '308 https://example.com/a?b=c'],
    [{ scheme: 'https' }, { port: 8080 }, '302 https://example.com/'],
    [{ scheme: 'http' }, { scheme: 'https', port: 8443 }, '302 http://example.com/'],
    [{}, { port: 8080 }, '302 http://example.com:8080/'],
    [{}, { scheme: 'https', port: 8443 }, '302 https://example.com:8443/'],
    [{}, { scheme: 'https' }, '302 https://example.com/'],
    [{ authority: { host: 'other.org' } }, {}, '302 http://other.org/'],
    [{ authority: { host: 'other.org' } }, { port: 8080 }, '302 http://other.org:8080/'],
    [{ authority: { port: 8080 } }, {}, '302 http://example.com:8080/'],
    [{ authority: { port: 80 } }, { port: 8080 }, '302 http://example.com/'],
    [{ authority: { port: 443 }, scheme: 'https' }, {}, '302 https://example.com/'],
    [{ authority: { port: 80 }, scheme: 'https' }, {}, '302 https://example.com:80/'],
    [{ authority: { full: 'o.org:81' }, scheme: 'https' }, {}, '302 https://o.org:81/'],
    [{ authority: 'auto' }, {}, '302 http://example.com/'],
    [{}, { host: '[2001:db8::1]', port: 8080 }, '302 http://[2001:db8::1]:8080/'],
    [{ scheme: 'https' }, { host: '', url: '/x' }, '302 /x'],
    [{}, { host: '', url: '//evil.example/x' }, '302 /.//evil.example/x'],
    [{}, { url: '//evil.example/x' }, '302 http://example.com//evil.example/x'],
  ] as const) {
    it(`${JSON.stringify(policy)} for ${JSON.stringify(asked)}: ${expected}`, async () => {
      assert.equal(await redirect(policy, asked), expected)
    })
  }
})

describe('requestRedirect: the path', () => {
  for (const [path, prefix, url, expected] of [
    [{ full: '/new' }, '/', '/old/x?q=1', '/new?q=1'],
    [{ full: '/é x'.replace(' x', '') }, '/', '/', '/%C3%A9'],
    [{ prefix: '/xyz' }, '/foo', '/foo/bar', '/xyz/bar'],
    [{ prefix: '/xyz' }, '/', '/foo', '/xyz/foo'],
    [{ prefix: '/' }, '/foo', '/foo/bar?q=1', '/bar?q=1'],
  ] as const) {
    it(`${JSON.stringify(path)} on ${prefix}: ${url} goes to ${expected}`, async () => {
      assert.equal(await redirect({ path }, { url }, prefix), `302 http://example.com${expected}`)
    })
  }
})
