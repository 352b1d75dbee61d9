import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const DIRECTIVE = '// @ts-expect-error '
/** Every stage at which something is forwarded. */
const STAGES = ['connection', 'traffic', 'backend', 'provider', 'mcp']

/**
 * The lines of the fixture at which `tsc` reports an error without the `@ts-expect-error` comments.
 */
async function errorsIn(text: string): Promise<readonly number[]> {
  const folder = await mkdtemp(join(tmpdir(), 'permit-'))
  try {
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: [],
      files: ['fixture.ts'],
    }
    await writeFile(join(folder, 'fixture.ts'), text.replaceAll('../../src/', `${ROOT}/src/`))
    await writeFile(join(folder, 'package.json'), '{"type": "module"}')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const { stdout } = await promisify(execFile)(tsc, ['-p', folder, '--pretty', 'false']).catch(
      (error: { readonly stdout: string }) => error,
    )
    const found = [...stdout.matchAll(/fixture\.ts\((\d+),\d+\): error/g)]
    return found.map(([, line]) => Number(line))
  } finally {
    await rm(folder, { recursive: true })
  }
}

describe('a permit', () => {
  it('is required to forward anything, at every stage: other code does not compile', async () => {
    const fixture = await readFile(join(import.meta.dirname, 'permit-fixture.ts'), 'utf8')
    const lines = fixture.split('\n')
    const wanted = lines.flatMap((line, index) => (line.includes(DIRECTIVE) ? [index + 2] : []))
    for (const stage of STAGES) assert.ok(fixture.includes(`${DIRECTIVE}${stage}: `), stage)
    assert.deepEqual(await errorsIn(fixture.replaceAll(DIRECTIVE, '// ')), wanted)
  })
})
