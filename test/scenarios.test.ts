import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readSuite } from '../src/cli/suite/read.ts'
import { runSuite } from '../src/cli/suite/run-suite.ts'

const FOLDER = join(import.meta.dirname, 'scenarios')
const files = readdirSync(FOLDER).filter((name) => !name.endsWith('.config.yaml'))

/** The tables of the specification, as users write cases, over real sockets. */
describe('scenarios', () => {
  for (const name of files) {
    it(name, async () => {
      const file = join(FOLDER, name)
      const { value: suite, diagnostics } = readSuite(file)
      assert.deepEqual(diagnostics, [])
      assert.ok(suite)
      const result = await runSuite(suite, file, {})
      assert.deepEqual(result.diagnostics, [])
      const failed = result.cases.filter(({ failures }) => failures.length > 0)
      assert.deepEqual(failed, [])
      assert.equal(result.cases.length, suite.requests.length)
    })
  }
})
