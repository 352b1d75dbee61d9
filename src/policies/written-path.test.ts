import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { normalisePath } from '../wire/http1/path.ts'
import { requestPath, sentPath } from './written-path.ts'

const read = (path: string) => requestPath().safeParse(path).data

describe('a path that requests can have', () => {
  for (const [written, path] of [
    ['/a/b', '/a/b'],
    ['/a//b;c', '/a//b;c'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a..b/...', '/a..b/...'],
    ['/%61dmin', '/admin'],
    ['/l%c3%a9', '/l%C3%A9'],
    ['/é', '/%C3%A9'],
    ['/日本/x', '/%E6%97%A5%E6%9C%AC/x'],
    ['/%20', '/%20'],
    ['/a/../b', undefined],
    ['/a/.', undefined],
    ['/a/%2e%2E/b', undefined],
    ['/a/..;x/b', undefined],
    ['/a%2fb', undefined],
    ['/a\\b', undefined],
    ['/a%5cb', undefined],
    ['/a%00', undefined],
    ['/a%', undefined],
    ['/a%zz', undefined],
    ['a', undefined],
    ['/a?b', undefined],
  ] as const) {
    it(`${written}: ${path ?? 'rejected'}`, () => assert.equal(read(written), path))
  }

  it('is unchanged by normalization', () => {
    const part = fc.constantFrom('/', '.', '..', '%', '%2e', '%2F', '%c3', 'a', ';', 'é', '\\', '~')
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const written = `/${parts.join('')}`
        const path = read(written)
        if (path !== undefined) assert.equal(normalisePath(path, true), path)
        // ASCII paths are rejected only if a request with the path is rejected, or gets another
        // path.
        if (path === undefined && !written.includes('é'))
          assert.ok(/\/\.\.?(\/|$)/.test(written.replaceAll(/%2e/gi, '.')) || isRejected(written))
      }),
    )
  })
})

function isRejected(path: string): boolean {
  return typeof normalisePath(path, true) === 'number'
}

describe('the path of a request that is sent', () => {
  for (const [written, path] of [
    ['/a%2Fb/..', '/a%2Fb/..'],
    ['/é', '/%C3%A9'],
    ['a', undefined],
  ] as const) {
    it(`${written}: ${path ?? 'rejected'}`, () => {
      assert.equal(sentPath().safeParse(written).data, path)
    })
  }
})
