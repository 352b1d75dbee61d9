import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { History } from './changes.ts'
import { isAllowedSkip, suitesThatMayBeLeftOut, whyLeftOut } from './left-out.ts'
import { suitesOf } from './suites.ts'

const SUITES = suitesOf({ seed: 1, base: 'HEAD~1' }).map(({ name }) => name)
const WHOLE = { isLinuxX64: true, isRoot: true, hasIpv6: true, has: () => true }
const CHANGED = { unchangedSince: () => undefined }

function leftOut(machine: Partial<typeof WHOLE>, history: History = CHANGED) {
  const facts = { machine: { ...WHOLE, ...machine }, history }
  return SUITES.filter((name) => whyLeftOut(name, facts) !== undefined)
}

describe('the list of what may be left out', () => {
  it('leaves out nothing on a machine that has everything, after a change of everything', () => {
    assert.deepEqual(leftOut({}), [])
  })

  it('names only suites that exist', () => {
    for (const name of suitesThatMayBeLeftOut()) assert.ok(SUITES.includes(name), name)
  })

  it('never leaves out what needs nothing but npm, whatever a machine lacks', () => {
    const bare = { isLinuxX64: false, isRoot: false, hasIpv6: false, has: () => false }
    const kept = SUITES.filter((name) => !leftOut(bare).includes(name))
    for (const name of ['check', 'unit', 'truth', 'sockets', 'storage', 'faults', 'mutate']) {
      assert.ok(kept.includes(name), name)
    }
  })

  it('leaves out the cluster only since a night in which it passed', () => {
    const unchanged = { unchangedSince: () => 'unchanged since it passed at 0123' }
    assert.deepEqual(leftOut({}, unchanged), ['cluster-tools', 'cluster', 'gateway-api'])
  })

  it('allows a test to be skipped only for a listed reason, and only on a machine that lacks it', () => {
    const line = 'skipped: a test (openssl, which makes the certificates, is not installed)'
    assert.ok(!isAllowedSkip('peers', line, WHOLE))
    assert.ok(isAllowedSkip('peers', line, { ...WHOLE, has: () => false }))
    assert.ok(!isAllowedSkip('peers', 'skipped: a test', WHOLE))
    const files = 'skipped: its files (AGENTGATEWAY_FILES names no folder)'
    assert.ok(isAllowedSkip('peers', files, WHOLE))
    assert.ok(!isAllowedSkip('unit', files, WHOLE))
  })
})
