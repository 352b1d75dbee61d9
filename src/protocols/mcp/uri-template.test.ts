import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isUriTemplate, mayExpandTo } from './uri-template.ts'

describe('URI templates', () => {
  for (const [template, uri, expected] of [
    ['page://{id}', 'page://7', true],
    ['page://{id}', 'pages://7', false],
    ['test://template/{id}/data', 'test://template/123/data', true],
    ['test://template/{id}/data', 'test://template/data', false],
    ['test://template/{id}/data', 'test://template/123', false],
    ['a://{x}/m/{y}/z', 'a://1/m/2/z', true],
    ['a://{x}/m/{y}/z', 'a://1/m/z', false],
    ['a://{x}/m/{y}/z', 'a://1/n/2/z', false],
    ['search://{?q,page}', 'search://?q=1', true],
    ['{+uri}', 'anything://at/all', true],
    ['a://{x}b{y}', 'a://bb', true],
    ['note://one', 'note://one', true],
    ['note://one', 'note://one/two', false],
  ] as const) {
    it(`${template} ${expected ? 'may' : 'cannot'} expand to ${uri}`, () => {
      assert.equal(mayExpandTo(template, uri), expected)
      assert.equal(isUriTemplate(template), template.includes('{'))
    })
  }
})
