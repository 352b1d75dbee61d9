import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import fc from 'fast-check'
import { assertProperty, assertSeeds } from '../fuzz/assert-property.ts'
import { addToCorpus, corpusFile, entryOf, type Find, readCorpus } from './corpus.ts'
import { fromStored, NotStorable, toStored } from './values.ts'

const anything = fc.anything({
  withBigInt: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  key: fc.oneof(fc.string(), fc.constantFrom('$', '__proto__', 'value')),
  values: [
    fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.bigInt(), fc.boolean()),
    fc.constantFrom(undefined, null, Number.NaN, -0, Number.POSITIVE_INFINITY, '\ud800'),
    fc.uint8Array({ maxLength: 9 }),
    fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
  ],
})

describe('values of the corpus', () => {
  it('are read from JSON as they were written', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const text = JSON.stringify(toStored(value))
        assert.deepStrictEqual(fromStored(JSON.parse(text)), value)
      }),
    )
  })

  it('are rejected if JSON cannot hold them', () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    for (const value of [() => 1, Symbol('s'), new Date(), /a/, cycle, new Array(3)]) {
      assert.throws(() => toStored(value), NotStorable)
    }
  })
})

describe('the corpus', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'corpus-'))
    process.env['FUZZ_FOUND'] = folder
  })
  afterEach(() => {
    delete process.env['FUZZ_FOUND']
    rmSync(folder, { recursive: true })
  })

  const finds = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Find)

  it('gets the smallest counterexample of a property', () => {
    const drawn = fc.tuple(fc.nat(1_000), fc.string())
    const property = fc.property(drawn, ([n]) => assert.ok(n < 70))
    assert.throws(
      () => assertProperty('planted', property, { numRuns: 100, seed: 1 }),
      /planted, an input drawn/,
    )
    const [find] = finds()
    assert.deepEqual([find?.name, find?.entry.input], ['planted', [[70, '']]])
  })

  it('gets the seed and path of a counterexample that JSON cannot hold, which draw it again', async () => {
    const seen: number[] = []
    const property = fc.asyncProperty(
      fc.nat(1_000).map((n) => () => n),
      async (read) => {
        seen.push(read())
        assert.ok(read() < 70)
      },
    )
    await assert.rejects(assertProperty('planted', property, { numRuns: 100, seed: 1 }))
    const { seed, path, input } = finds()[0]?.entry ?? {}
    assert.equal(input, undefined)
    seen.length = 0
    await fc.check(property, { seed: seed as number, path: path as string, endOnFailure: true })
    assert.deepEqual(seen, [70])
  })

  it('gets the seed of a test that draws for itself', async () => {
    const test = (seed: number) => assert.notEqual(seed, 12)
    await assert.rejects(assertSeeds('planted', { numRuns: 5, seed: 10 }, test))
    assert.equal(finds()[0]?.entry.seed, 12)
  })

  it('has each input once', () => {
    const find = { name: 'x', entry: { note: 'n', input: [1] }, error: 'e' }
    assert.equal(addToCorpus(find, folder), true)
    assert.equal(addToCorpus({ ...find, entry: { note: 'other', input: [1] } }, folder), false)
    assert.equal(addToCorpus({ ...find, entry: { note: 'n', seed: 1, path: '0' } }, folder), true)
    assert.equal(readCorpus('x', folder).length, 2)
  })

  it('has long inputs by the seed that draws them', () => {
    const entry = entryOf(['a'.repeat(100_000)], { seed: 4, path: '2:1' }, 'n')
    assert.deepEqual(entry, { note: 'n', seed: 4, path: '2:1' })
  })

  const names = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => basename(name, '.jsonl'))

  it('has inputs of tests that exist, with what each found', () => {
    const sources = globSync('{src,test}/**/*.test.ts').map((file) => readFileSync(file, 'utf8'))
    const texts = [...sources, readFileSync('test/truth/stored-pairs.ts', 'utf8')]
    for (const name of names) {
      assert.ok(
        texts.some((text) => text.includes(`'${name}'`)),
        `no test replays ${corpusFile(name)}`,
      )
      for (const { note, input, seed } of readCorpus(name)) {
        assert.ok(note !== '' && (input !== undefined || seed !== undefined), name)
      }
    }
  })
})
