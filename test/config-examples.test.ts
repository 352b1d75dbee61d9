import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FILE_CODES } from '../src/diagnostics/codes/file.ts'
import { REFERENCE_CODES } from '../src/diagnostics/codes/references.ts'
import { loadText } from '../src/sources/file/load.ts'

function said(text: string): readonly string[] {
  const { result } = loadText(text, 'gateway.yaml', { environment: {} })
  return [...new Set(result.diagnostics.map(({ severity, code }) => `${severity} ${code}`))]
}

describe('the examples of the error pages about files', () => {
  for (const { code, severity, example } of [...FILE_CODES.codes, ...REFERENCE_CODES.codes]) {
    if (example.language !== 'yaml' || example.sketch === true) continue
    it(`${code}: what is wrong says so`, () => {
      assert.deepEqual(said(example.wrong), [`${severity} ${code}`])
    })
    it(`${code}: what is right says nothing`, () => assert.deepEqual(said(example.right), []))
  }
})
