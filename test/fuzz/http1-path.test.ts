import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { normalisePath } from '../../src/wire/http1/path.ts'
import { rejectionOf } from '../../src/wire/http1/rejections.ts'
import { anyText } from './any-text.ts'
import { assertProperty } from './assert-property.ts'
import { plainPath } from './http1-path.plain.ts'
import { fuzz } from './runs.ts'

const PIECES = [
  ...['/', '/', '/', '.', '..', '/.', '/..', '/../', '//', 'a', 'admin', ';', '..;', ';x=1', '\\'],
  ...['%2e', '%2E', '%2f', '%2F', '%5c', '%00', '%61', '%7e', '%c3%a9', '%25', '%3b', '%3B', '%'],
  ...['%4', '%zz', '%2', '?', '#', ' ', '\0', '\r', '\n', '\x7f', '\xe9', '\u0161', '"', '|', '~'],
]

const paths = fc.oneof(
  { weight: 8, arbitrary: fc.array(fc.constantFrom(...PIECES.slice(0, 15)), { maxLength: 8 }) },
  { weight: 8, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }) },
  fc.array(anyText({ maxLength: 4 }), { maxLength: 3 }),
)

describe('paths, compared with the reference implementation', () => {
  const runs = fuzz(0.5)
  it(`${runs.numRuns} of them: the same path or the same word, and it stays as it is`, () => {
    const property = fc.property(paths, ([...pieces]) => {
      const path = `/${pieces.join('')}`
      const ours = normalisePath(path)
      const plain = plainPath(path)
      if (typeof ours === 'number') assert.deepEqual({ rejected: rejectionOf(ours).word }, plain)
      else {
        assert.equal(ours, plain)
        assert.equal(normalisePath(ours), ours)
        assert.doesNotMatch(ours, /\/\.\.?(\/|$)|\\|%(2f|5c|00)|^[^/]/i)
      }
    })
    assertProperty('http1-path', property, runs)
  })
})
