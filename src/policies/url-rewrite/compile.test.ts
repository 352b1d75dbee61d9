import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, programOf } from '../../../test/program/models.ts'

async function rewrite(policy: object, url: string, prefix = '/') {
  const program = programOf({
    routes: [
      { matches: [{ path: { kind: 'prefix', value: prefix } }], policies: { urlRewrite: policy } },
    ],
  })
  const headers = { host: 'example.com:8080' }
  const { exchange, reply } = await decide(program, { url, headers })
  assert.equal(reply, undefined)
  return exchange
}

// The table of HTTPPathModifier.replacePrefixMatch.
describe('urlRewrite replaces the matched prefix', () => {
  for (const [url, prefix, replacement, path] of [
    ['/foo/bar', '/foo', '/xyz', '/xyz/bar'],
    ['/foo/bar', '/foo', '/xyz/', '/xyz/bar'],
    ['/foo/bar', '/foo/', '/xyz', '/xyz/bar'],
    ['/foo/bar', '/foo/', '/xyz/', '/xyz/bar'],
    ['/foo', '/foo', '/xyz', '/xyz'],
    ['/foo/', '/foo', '/xyz', '/xyz/'],
    ['/foo/bar', '/foo', '/', '/bar'],
    ['/foo/', '/foo', '/', '/'],
    ['/foo', '/foo', '/', '/'],
    ['/foo//bar', '/foo', '/xyz', '/xyz//bar'],
    ['/a', '/', '/v1', '/v1/a'],
    ['/', '/', '/v1', '/v1/'],
  ] as const) {
    it(`${url}, ${prefix} by ${replacement}: ${path}`, async () => {
      const exchange = await rewrite({ path: { prefix: replacement } }, `${url}?q=1`, prefix)
      assert.equal(exchange.path, path)
      assert.equal(exchange.search, '?q=1')
      assert.equal(exchange.request.path, url, 'rules read what the client asked for')
    })
  }
})

describe('urlRewrite sets host and path', () => {
  for (const [policy, host, path] of [
    [{ path: { full: '/one' } }, '', '/one'],
    [{ authority: { host: 'up.internal' } }, 'up.internal', '/a'],
    [{ authority: { full: 'up.internal:81' } }, 'up.internal:81', '/a'],
    [{ authority: { port: 81 } }, 'example.com:81', '/a'],
    [{ authority: 'auto' }, '', '/a'],
    [{ authority: 'none' }, 'example.com:8080', '/a'],
    [{ authority: { host: 'b' }, path: { prefix: '/p' } }, 'b', '/p/a'],
  ] as const) {
    it(`${JSON.stringify(policy)}: '${host}' ${path}`, async () => {
      const exchange = await rewrite(policy, '/a')
      assert.deepEqual([exchange.host, exchange.path], [host, path])
    })
  }
})
