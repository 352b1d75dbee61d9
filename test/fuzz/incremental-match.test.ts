// Route tables that are derived from earlier tables match like tables built from scratch.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runToCompletion } from '../../src/model/steps.ts'
import { compileHosts, type Hosts, type MatchEntry, matcherOf } from '../../src/program/match.ts'
import { Random } from '../truth/random.ts'
import { assertSeeds } from './assert-property.ts'
import { exchangeOf } from './exchanges.ts'
import { fuzz } from './runs.ts'

interface Group {
  readonly entries: readonly MatchEntry<string>[]
}

const PATHS = ['/', '/a', '/a/', '/a/b', '/a/b/c', '/ab', '/a/bc', '/x', '/x/y/z', '/a/b/c/d']
const HOSTS = ['a.test', 'b.a.test', '*.test', '*.a.test', 'c.test']

function entry(random: Random, target: string): MatchEntry<string> {
  const kind = random.pick(['prefix', 'prefix', 'prefix', 'exact', 'exact', 'regex'] as const)
  const path = random.pick(PATHS)
  const headers = random.chance(0.25) ? [{ name: 'x-a', kind: 'exact', value: '1' } as const] : []
  return {
    hostnames: random.chance(0.4) ? [] : random.some(HOSTS, 1 + random.int(2)),
    match: {
      path: { kind, value: kind === 'regex' ? `${path}.*` : path },
      ...(random.chance(0.2) ? { method: 'POST' } : {}),
      headers,
      query: [],
    },
    target,
  }
}

let targets = 0
const group = (random: Random): Group => ({
  entries: Array.from({ length: 1 + random.int(2) }, () => entry(random, `t${targets++}`)),
})

function edit(random: Random, groups: readonly Group[]): Group[] {
  const next = [...groups]
  const at = random.int(next.length + 1)
  const what = random.int(4)
  if (what === 0) next.splice(at, 0, group(random))
  else if (what === 1) next.splice(at, 1)
  else if (what === 2 && at < next.length) next[at] = group(random)
  else {
    const [moved] = next.splice(at, 1)
    if (moved !== undefined) next.splice(random.int(next.length + 1), 0, moved)
  }
  return next
}

const OPTIONS = { hostname: undefined, unmatched: 'unmatched', rejected: 'refused' }

function look(hosts: Hosts<string>, random: Random): string {
  const exchange = exchangeOf({
    method: random.pick(['GET', 'POST']),
    host: random.pick(['a.test', 'b.a.test', 'c.test', 'd.c.test', 'x.b.a.test', 'other']),
    url: random.pick([...PATHS, '/a/b/x', '/abc', '/x/y', '/a/b/c/d/e']),
    headers: random.chance(0.5) ? { 'x-a': '1' } : {},
  })
  return `${matcherOf(hosts, OPTIONS)(exchange)} ${exchange.matchedPrefix}`
}

describe('route tables after small changes', () => {
  const runs = fuzz(0.4)

  it('match like tables built from scratch, and leave the earlier tables unchanged', async () => {
    let shared = 0
    await assertSeeds('incremental-match', runs, (seed) => {
      const random = new Random(seed)
      let groups: Group[] = Array.from({ length: random.int(12) }, () => group(random))
      let hosts = runToCompletion(compileHosts<string>(groups))
      for (let step = 0; step < 10; step++) {
        const before = { groups, hosts }
        groups = edit(random, groups)
        hosts = runToCompletion(compileHosts(groups, hosts))
        for (const [own, all] of [
          [hosts, groups],
          [before.hosts, before.groups],
        ] as const) {
          const fresh = runToCompletion(compileHosts<string>(all))
          for (let left = 12; left > 0; left--) {
            const dice = seed * 1_000 + step * 20 + left
            const what = `seed ${seed}, step ${step}`
            assert.equal(look(own, new Random(dice)), look(fresh, new Random(dice)), what)
          }
        }
        if (hosts.any.patterns === before.hosts.any.patterns) shared++
      }
    })
    // Otherwise the test proves nothing.
    assert.ok(shared > runs.numRuns * 2, `${shared} tables went on`)
  })
})
