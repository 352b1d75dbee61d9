import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { importGraph } from '../imports/import-graph.ts'
import { Closures } from './closures.ts'

const FILES = {
  'src/cel/a.test.ts': "import './a.ts'\nimport { f } from './fixture.ts'",
  'src/cel/a.ts': "import '../wire/b.ts'",
  'src/cel/fixture.ts': 'export const f = 1',
  'src/wire/b.ts': 'export const b = 1',
  'src/wire/c.ts': "import './b.ts'",
}

function closuresOf(files: Record<string, string>): Closures {
  const sources = Object.entries(files).map(([path, text]) => ({ path, text }))
  return new Closures(sources, importGraph(sources))
}

describe('the files that a test depends on', () => {
  it('are those that it imports, directly or through others, and the test itself', () => {
    assert.deepEqual([...closuresOf(FILES).filesOf('src/cel/a.test.ts')].sort(), [
      'src/cel/a.test.ts',
      'src/cel/a.ts',
      'src/cel/fixture.ts',
      'src/wire/b.ts',
    ])
  })

  const key = closuresOf(FILES).keyOf('src/cel/a.test.ts')
  for (const [file, isDependency] of [
    ['src/cel/a.test.ts', true],
    ['src/wire/b.ts', true],
    ['src/wire/c.ts', false],
  ] as const) {
    it(`have ${isDependency ? 'another' : 'the same'} key after a change of ${file}`, () => {
      const changed = closuresOf({ ...FILES, [file]: `${FILES[file]}\n// changed` })
      assert.equal(changed.keyOf('src/cel/a.test.ts') !== key, isDependency)
    })
  }
})
