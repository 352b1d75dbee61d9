import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { lint } from '../src/analysis/lint/lint.ts'
import { loadFile } from '../src/sources/file/load.ts'

const FOLDER = join(import.meta.dirname, '../examples')

describe('examples', () => {
  for (const name of readdirSync(FOLDER).filter((own) => own.endsWith('.yaml'))) {
    it(`${name} is valid`, () => {
      const { value, diagnostics } = loadFile(join(FOLDER, name), { environment: {} }).result
      assert.deepEqual(diagnostics, [])
      assert.ok(value)
      const found = lint(value).map(({ diagnostic }) => diagnostic)
      assert.deepEqual(
        found.filter(({ severity }) => severity === 'error'),
        [],
      )
    })
  }
})
