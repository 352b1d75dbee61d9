import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rankFor, rankOf } from './hostnames.ts'

describe('the rank of a hostname', () => {
  it('increases with the specificity of the hostname', () => {
    const names = [undefined, '*.com', '*.example.com', '*.a.example.com', 'b.a.example.com']
    const ranks = names.map((name) => rankFor(name, 'b.a.example.com'))
    assert.deepEqual(
      ranks,
      ranks.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(ranks).size, ranks.length)
    assert.deepEqual(ranks, names.map(rankOf))
  })

  it('is lowest for any host, in every spelling', () => {
    for (const any of [undefined, '', '*']) assert.equal(rankFor(any, 'a.example.com'), 0)
  })

  it('is negative for hosts that it does not cover', () => {
    for (const host of ['example.com', 'a.example.org', '.example.com', '']) {
      assert.equal(rankFor('*.example.com', host), -1, host)
    }
    assert.equal(rankFor('a.example.com', 'b.example.com'), -1)
  })
})
