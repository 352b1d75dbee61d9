import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readOptions } from './options.ts'

describe('options of npm run mutate', () => {
  it('are by default 500 mutants of all rooms, in one process, with a new seed', () => {
    const { seed, out, ...rest } = readOptions([])
    assert.ok(seed > 0)
    assert.equal(out, `.cache/mutate/seed-${seed}`)
    assert.deepEqual(rest, {
      rooms: [],
      count: 500,
      minutes: Number.POSITIVE_INFINITY,
      jobs: 1,
      resumes: false,
      changed: undefined,
      again: undefined,
      failsOnSurvivors: false,
      listsIdleTests: false,
    })
  })

  it('choose rooms', () => {
    assert.deepEqual(readOptions(['--rooms=cel,controller/translate']).rooms, [
      'cel',
      'controller/translate',
    ])
  })

  it('limit what is tried for a change to 50 mutants in less than a minute', () => {
    for (const [args, base] of [
      [['--changed', '--count=400'], ''],
      [['--changed=main'], 'main'],
    ] as const) {
      const { changed, count, minutes, out } = readOptions(args)
      assert.equal(changed, base)
      assert.equal(count, 50)
      assert.ok(minutes < 1)
      assert.equal(out, '.cache/mutate/changed')
    }
  })

  it('repeat the survivors of a run', () => {
    const { again, out } = readOptions(['--again=.cache/mutate/seed-1'])
    assert.equal(again, '.cache/mutate/seed-1')
    assert.equal(out, '.cache/mutate/again')
  })

  it('are an error if a number is none', () => {
    assert.throws(() => readOptions(['--count=many']), /not a number: many/)
  })
})
