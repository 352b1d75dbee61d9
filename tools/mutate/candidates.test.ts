import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { importGraph } from '../imports/import-graph.ts'
import { candidatesFor } from './candidates.ts'

const GRAPH = importGraph([
  { path: 'src/cel/emit/leaf.test.ts', text: "import './index.ts'" },
  { path: 'src/cel/emit/near.test.ts', text: "import './leaf.ts'" },
  { path: 'src/cel/emit/slow.test.ts', text: "import './leaf.ts'" },
  { path: 'src/wire/far.test.ts', text: "import '../cel/emit/leaf.ts'" },
  { path: 'src/cel/emit/index.ts', text: "import './leaf.ts'" },
  { path: 'test/proxy/whole.test.ts', text: "import '../../src/cel/emit/leaf.ts'" },
  { path: 'test/cluster/node.test.ts', text: "import '../../src/cel/emit/leaf.ts'" },
  { path: 'test/glossary.test.ts', text: "import '../src/cel/emit/leaf.ts'" },
])

describe('test files for a mutant', () => {
  it('begin with the one beside the file, then the nearest and shortest', () => {
    const msOf = (path: string) => (path.endsWith('slow.test.ts') ? 20_000 : undefined)
    const paths = candidatesFor('src/cel/emit/leaf.ts', GRAPH, msOf).map(({ path }) => path)
    assert.deepEqual(paths, [
      'src/cel/emit/leaf.test.ts',
      'src/cel/emit/near.test.ts',
      'src/wire/far.test.ts',
      'test/proxy/whole.test.ts',
      'src/cel/emit/slow.test.ts',
    ])
  })
})
