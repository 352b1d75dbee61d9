import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { locateFindings } from '../src/analysis/lint/finding.ts'
import { asFindings, lint } from '../src/analysis/lint/lint.ts'
import { suppress } from '../src/analysis/lint/suppress.ts'
import { LINT_CODES } from '../src/diagnostics/codes/lint.ts'
import { loadText } from '../src/sources/file/load.ts'

function said(text: string): readonly string[] {
  const { result, places } = loadText(text, 'gateway.yaml', { environment: {} })
  const found = [
    ...asFindings(result.diagnostics),
    ...(result.value ? locateFindings(places, lint(result.value)) : []),
  ]
  return suppress(found, text, 'gateway.yaml')
    .filter(({ diagnostic }) => diagnostic.code.startsWith('AZ'))
    .map(({ diagnostic: { severity, code } }) => `${severity} ${code}`)
}

describe('the examples on lint pages', () => {
  for (const { code, severity, example } of LINT_CODES.codes) {
    if (example.sketch === undefined) {
      it(`${code}: what is wrong says so`, () => {
        assert.deepEqual([...new Set(said(example.wrong))], [`${severity} ${code}`])
      })
    }
    it(`${code}: what is right says nothing`, () => assert.deepEqual(said(example.right), []))
  }
})
