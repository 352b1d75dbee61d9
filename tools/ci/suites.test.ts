import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { describe, it } from 'node:test'
import { unitFiles } from '../test/unit-files.ts'
import { suitesOf } from './suites.ts'

const SUITES = suitesOf({ seed: 7, base: 'HEAD~1' })

describe('the suites of a landing', () => {
  it('run every test file once', () => {
    const runs = [
      ...unitFiles(),
      ...SUITES.flatMap(({ command }) => command.filter((part) => part.includes('*'))).flatMap(
        (pattern) => globSync(pattern),
      ),
    ].toSorted()
    assert.deepEqual(runs, globSync('{src,tools,test}/**/*.test.ts').toSorted())
  })

  it('wait only for suites that exist', () => {
    const names = SUITES.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    for (const { after = [] } of SUITES) for (const name of after) assert.ok(names.includes(name))
  })

  it('draw from the seed of the run', () => {
    const seeds = SUITES.flatMap(({ environment = {} }) => environment['FUZZ_SEED'] ?? [])
    assert.deepEqual([...new Set(seeds)], ['7'])
  })
})
