import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const DIRECTIVE = '// @ts-expect-error '
/** Every stage at which something is forwarded. */
const STAGES = ['connection', 'traffic', 'backend', 'provider', 'mcp']

describe('a permit', () => {
  // `tsc` compiles the fixture with all tests: it reports each of these comments without an error
  // on the next line, and any other error.
  it('is required to forward anything: the fixture that must not compile covers every stage', async () => {
    const fixture = await readFile(join(import.meta.dirname, 'permit-fixture.ts'), 'utf8')
    for (const stage of STAGES) assert.ok(fixture.includes(`${DIRECTIVE}${stage}: `), stage)
  })
})
