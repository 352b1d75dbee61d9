import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Cluster } from '../upstream/cluster.ts'
import { latencyOf, observeLatency } from './provider-latency.ts'

const cluster = () => ({}) as Cluster

describe('provider latency', () => {
  it('is unknown before the first response', () => {
    assert.equal(latencyOf(cluster(), 1_000), 0)
  })

  it('follows the measurements, immediately if they rise', () => {
    const own = cluster()
    for (let at = 0; at < 50; at++) observeLatency(own, 100, at)
    assert.ok(Math.abs(latencyOf(own, 50) - 100) < 5)
    observeLatency(own, 900, 51)
    assert.ok(Math.abs(latencyOf(own, 51) - 900) < 5)
    for (let at = 0; at < 50; at++) observeLatency(own, 100, 52 + at)
    assert.ok(Math.abs(latencyOf(own, 102) - 100) < 10)
  })

  it('decays, so that a slow provider is tried again', () => {
    const own = cluster()
    observeLatency(own, 900, 0)
    assert.ok(latencyOf(own, 60_000) < 10)
  })

  it('of a fast failure counts as slow', () => {
    const own = cluster()
    observeLatency(own, 100, 0)
    observeLatency(own, -1, 1)
    assert.ok(latencyOf(own, 1) >= 4_000)
    observeLatency(own, 20_000, 2)
    observeLatency(own, -1, 3)
    assert.ok(latencyOf(own, 3) >= 19_000)
  })
})
