import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { preferredCoding } from './accept-encoding.ts'

describe('the preferred content coding', () => {
  for (const [accept, expected] of [
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['gzip, br', 'br'],
    ['gzip, br, zstd', 'zstd'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['GZIP;Q=0.8 , BR ; q=0.9', 'br'],
    ['x-gzip', 'gzip'],
    ['*', 'zstd'],
    ['*;q=0', undefined],
    ['*;q=0.1, gzip;q=0.5', 'gzip'],
    ['*, zstd;q=0', 'br'],
    ['gzip;q=0', undefined],
    ['identity', undefined],
    ['identity;q=0.5, gzip;q=0.4', undefined],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['identity;q=0, gzip;q=0.001', 'gzip'],
    ['deflate, compress', undefined],
    ['gzip;q=2', undefined],
    ['gzip;q=0.5555', undefined],
    ['gzip;level=9', undefined],
    ['gzip;q=, br', 'br'],
  ] as const) {
    it(`${accept}: ${expected}`, () => {
      assert.equal(preferredCoding(accept, ['zstd', 'br', 'gzip']), expected)
    })
  }
})
