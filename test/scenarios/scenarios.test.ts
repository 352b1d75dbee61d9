import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { readSuite } from '../../src/cli/suite/read.ts'
import { runSuite } from '../../src/cli/suite/run-suite.ts'

const FOLDERS = ['.', '../../examples/tests'].map((name) => join(import.meta.dirname, name))
const files = FOLDERS.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && !name.endsWith('.config.yaml'))
    .map((name) => join(folder, name)),
)

/** The tables of the specification, written as user test suites and run over real sockets. */
describe('scenarios', () => {
  for (const file of files) {
    it(basename(file), async () => {
      const { value: suite, diagnostics } = readSuite(file)
      assert.deepEqual(diagnostics, [])
      assert.ok(suite)
      const result = await runSuite(suite, file, { environment: {} })
      assert.deepEqual(result.diagnostics, [])
      const failed = result.cases.filter(({ failures }) => failures.length > 0)
      assert.deepEqual(failed, [])
      assert.equal(result.cases.length, suite.requests.length)
    })
  }
})
