import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOf } from './code-only.ts'
import { importsOf } from './imports.ts'
import { readSources } from './read-sources.ts'
import type { SourceFile } from './rule.ts'

/**
 * Modules that no gateway needs to start: other commands, and modules that are loaded on first use.
 */
const LATER: readonly RegExp[] = [
  /^src\/(controller|xds)\//,
  /^src\/analysis\/(decisions|diff|invariants|suggest)\//,
  /^src\/cli\/(index|convert|diff|explain|lint|replay|suggest|test-policies|convert\/.+|suite\/.+)\.ts$/,
  /^src\/diagnostics\/codes\//,
  /^src\/program\/(effective|explain)\.ts$/,
]

/** The files that `entry` loads at startup, each with the file that imports it. */
function loadedBy(entry: string, files: readonly SourceFile[]): ReadonlyMap<string, string> {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const found = new Map([[entry, '']])
  for (const path of found.keys()) {
    const file = byPath.get(path)
    if (file === undefined) continue
    const lines = codeOf(file).split('\n')
    for (const { target, typeOnly, line } of importsOf(file)) {
      const isLater = /(?<![\w$.])import\s*\(/.test(lines[line - 1] ?? '')
      if (target !== undefined && !typeOnly && !isLater && !found.has(target)) {
        found.set(target, path)
      }
    }
  }
  return found
}

function needless(files: readonly SourceFile[]): readonly string[] {
  return [...loadedBy('bin/portcullis.ts', files)]
    .filter(([path]) => LATER.some((pattern) => pattern.test(path)))
    .map(([path, by]) => `${path}, by ${by}`)
}

describe('the start of a gateway', () => {
  it('loads no modules of other commands', () => {
    const sources = readSources()
    assert.ok(loadedBy('bin/portcullis.ts', sources).has('src/proxy/gateway.ts'))
    assert.deepEqual(needless(sources), [])
  })

  it('planted: an import of a command through two files', () => {
    const files = {
      'bin/portcullis.ts': "import { a } from '../src/cli/a.ts'",
      'src/cli/a.ts':
        "import { b } from './b.ts'\nimport type { C } from '../controller/c.ts'\nconst c = await import('../xds/c.ts')",
      'src/cli/b.ts': "import { d } from '../analysis/diff/d.ts'",
    }
    const planted = Object.entries(files).map(([path, text]) => ({ path, text }))
    assert.deepEqual(needless(planted), ['src/analysis/diff/d.ts, by src/cli/b.ts'])
  })
})
