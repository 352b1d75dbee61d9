import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readSources } from '../../test/architecture/read-sources.ts'
import { dependentsOf, importGraph, testsOf } from './import-graph.ts'

const FILES = [
  { path: 'src/a/leaf.ts', text: 'export const leaf = 1' },
  { path: 'src/a/index.ts', text: "export { leaf } from './leaf.ts'" },
  { path: 'src/a/leaf.test.ts', text: "import { leaf } from './leaf.ts'" },
  { path: 'src/a/index.test.ts', text: "const a = await import('./index.ts')" },
  { path: 'src/b/types.ts', text: "import type { leaf } from '../a/leaf.ts'" },
  { path: 'src/b/types.test.ts', text: "import './types.ts'\n// see '../a/leaf.ts'" },
  { path: 'bin/program.ts', text: "import '../src/a/index.ts'" },
  { path: 'test/run.test.ts', text: "start(join(import.meta.dirname, '../bin/program.ts'))" },
  { path: 'test/root.test.ts', text: "start(join(ROOT, 'bin/program.ts'), 'examples/a.yaml')" },
  { path: 'src/b/thread.ts', text: "import '../a/leaf.ts'" },
  {
    path: 'src/b/pool.test.ts',
    text: "import type { Job } from './thread.ts'\nconst name = './thread.ts'",
  },
]

describe('the import graph', () => {
  const graph = importGraph(FILES)

  it('has every test that depends on a file at run time, the nearest first', () => {
    assert.deepEqual(testsOf(graph, 'src/a/leaf.ts'), [
      { path: 'src/a/leaf.test.ts', distance: 1 },
      { path: 'src/a/index.test.ts', distance: 2 },
      { path: 'src/b/pool.test.ts', distance: 4 },
      { path: 'test/run.test.ts', distance: 5 },
      { path: 'test/root.test.ts', distance: 5 },
    ])
  })

  it('ignores imports of types, and paths in comments', () => {
    const paths = dependentsOf(graph, 'src/a/leaf.ts').map(({ path }) => path)
    assert.ok(!paths.includes('src/b/types.ts'))
    assert.ok(!paths.includes('src/b/types.test.ts'))
  })

  it('knows which tests name a data file', () => {
    assert.deepEqual(testsOf(graph, 'examples/a.yaml'), [
      { path: 'test/root.test.ts', distance: 3 },
    ])
  })

  it('ends if files depend on each other', () => {
    const cycle = importGraph([
      { path: 'src/x.ts', text: "import './y.ts'" },
      { path: 'src/y.ts', text: "import './x.ts'" },
    ])
    assert.deepEqual(dependentsOf(cycle, 'src/x.ts'), [
      { path: 'src/x.ts', distance: 0 },
      { path: 'src/y.ts', distance: 1 },
    ])
  })

  it('of this repository: tests near a file come first, and those that start the gateway are included', () => {
    const tests = testsOf(importGraph(readSources()), 'src/cel/rules/lookups.ts')
    const nearest = tests.filter(({ distance }) => distance === tests[0]?.distance)
    assert.ok(nearest.some(({ path }) => path === 'src/cel/rules/rule-set.test.ts'))
    assert.ok(tests.some(({ path }) => path === 'test/cli/output.test.ts'))
    assert.ok(tests.length > 100)
  })
})
