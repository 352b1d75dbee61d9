import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limitFor, nextSuite, withPreparations } from './schedule.ts'
import type { Suite } from './suite.ts'

function suite(name: string, seconds: number, more: Partial<Suite> = {}): Suite {
  return { name, kind: 'tests', command: ['true'], seconds, cores: 1, ...more }
}

function next(waiting: readonly Suite[], running: readonly Suite[] = [], cores = 2) {
  return nextSuite({ waiting, running }, cores)?.name
}

describe('the schedule of suites', () => {
  it('starts the longest suite first', () => {
    assert.equal(next([suite('a', 10), suite('b', 30), suite('c', 20)]), 'b')
  })

  it('counts the time of the suites that wait for a preparation', () => {
    const tools = suite('tools', 10, { kind: 'preparation' })
    assert.equal(next([suite('a', 30), tools, suite('b', 25, { after: ['tools'] })]), 'tools')
  })

  it('starts no suite before what it waits for has ended', () => {
    const tools = suite('tools', 10)
    const other = suite('other', 30, { after: ['tools'] })
    assert.equal(next([other], [tools]), undefined)
    assert.equal(next([other]), 'other')
  })

  it('starts as many suites as there are cores for, and always one', () => {
    const running = [suite('a', 1, { cores: 1.5 })]
    assert.equal(next([suite('b', 1)], running), undefined)
    assert.equal(next([suite('b', 1), suite('c', 1, { cores: 0.5 })], running), 'c')
    assert.equal(next([suite('b', 1, { cores: 9 })]), 'b')
  })

  it('never runs two suites with the same resource at a time', () => {
    const node = { exclusive: 'node', cores: 0.1 }
    assert.equal(next([suite('b', 9, node), suite('c', 1)], [suite('a', 1, node)]), 'c')
  })

  it('adds to chosen suites what they use, and what that uses', () => {
    const all = [suite('a', 1), suite('b', 1, { after: ['a'] }), suite('c', 1, { after: ['b'] })]
    const namesOf = (...names: string[]) => withPreparations(names, all).map(({ name }) => name)
    assert.deepEqual(namesOf('c'), ['a', 'b', 'c'])
    assert.deepEqual(namesOf('a'), ['a'])
  })

  it('gives a run twice the time that its suites take on so many cores', () => {
    const tools = suite('tools', 30)
    const all = [tools, suite('a', 50, { after: ['tools'] }), suite('b', 100, { cores: 0.5 })]
    assert.equal(limitFor(all, 1), 260)
    assert.equal(limitFor(all, 2), 200)
    assert.equal(limitFor(all.slice(0, 2), 2), 160)
    assert.equal(limitFor([], 2), 0)
    assert.equal(limitFor([suite('endless', 9000)], 2), 5100)
  })
})
