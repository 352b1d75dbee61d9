import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { CATALOGUE, describeCode } from './catalogue.ts'

const records = CATALOGUE.flatMap((group) => group.codes)

/** Product code, except for the directory of the codes, which only describes them. */
const sources = globSync('src/**/*.ts')
  .filter((path) => !path.startsWith('src/diagnostics/codes/') && !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))

describe('the catalogue', () => {
  it('describes every code in use', () => {
    const unknown = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:PC\d{4}|AZ\d{3})\b/g)]
        .filter(([code]) => describeCode(code) === undefined)
        .map(([code]) => `${path}: ${code}`),
    )
    assert.deepEqual(unknown, [], 'codes used in src without an entry in src/diagnostics/codes')
  })

  it('has no unused code', () => {
    const isUsed = (code: string) => sources.some(({ text }) => text.includes(`'${code}'`))
    const unused = records.map(({ code }) => code).filter((code) => !isUsed(code))
    assert.deepEqual(unused, [], 'codes in src/diagnostics/codes that no file of src uses')
  })

  it('is sorted by code, each once, under the prefix of its group', () => {
    const codes = records.map(({ code }) => code)
    assert.deepEqual(codes, [...new Set(codes)].sort())
    for (const { prefix, codes: own } of CATALOGUE) {
      for (const { code } of own)
        assert.ok(code.startsWith(prefix) && /^(?:PC\d{4}|AZ\d{3})$/.test(code), code)
    }
  })

  for (const { code, title, explanation, example } of records) {
    it(`${code} explains itself in a paragraph, with a wrong and a right example`, () => {
      assert.match(title, /^[a-z]/)
      assert.doesNotMatch(title, /\.$/)
      assert.match(explanation, /^[A-Z`][^\n]{120,}\.$/)
      assert.notEqual(example.wrong, example.right)
    })
  }
})
