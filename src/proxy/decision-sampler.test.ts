import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RulePlace } from '../exchange/decision.ts'
import { renderPrometheus } from '../telemetry/exposition-text.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { MeteredSampler } from './decision-sampler.ts'

const RULE: RulePlace = {
  policy: 'team',
  section: 'traffic',
  level: 'route',
  kind: 'authorization',
  action: 'Allow',
  index: 3,
  field: 'rules[3]',
  expression: 'true',
  mode: 'Enforce',
  origin: { kind: 'part', file: 'a.yaml', part: 'routes/a', field: 'rules[3]' },
}

function started() {
  const clock = { now: 0 }
  const metrics = createMetrics()
  const own = new MeteredSampler(metrics, 0, () => clock.now)
  /** Runs a search that takes this many milliseconds; returns whether it was allowed. */
  const spend = (milliseconds: number) =>
    own.search(() => {
      clock.now += milliseconds
      return true
    }) === true
  const read = () => [...renderPrometheus(metrics.read())].join('')
  return { own, clock, spend, read }
}

describe('searches for the nearest miss', () => {
  it('run until the budget is spent, and again after it refills', () => {
    const { spend, clock } = started()
    let searches = 0
    while (spend(10)) searches++
    // 100 ms are saved at first, and each search of 10 ms earns half a millisecond.
    assert.equal(searches, 11)
    assert.equal(spend(1), false)
    clock.now += 1_000
    assert.equal(spend(10), true)
  })

  it('use at most a twentieth of the time in the long run', () => {
    const { spend, clock } = started()
    let spent = 0
    while (clock.now < 100_000) {
      if (spend(4)) spent += 4
      clock.now += 1
    }
    assert.ok(spent <= 100_000 / 20 + 200, `${spent} ms`)
    assert.ok(spent >= 100_000 / 20 - 200, `${spent} ms`)
  })

  it('save only a bounded budget, however long the idle time', () => {
    const { spend, clock } = started()
    clock.now = 3_600_000
    let searches = 0
    while (spend(10)) searches++
    assert.equal(searches, 11)
  })
})

describe('rule results are counted', () => {
  it('by policy, rule, action and cause', () => {
    const { own, read } = started()
    own.admitted(RULE).inc()
    own.admitted(undefined).inc()
    own.failed({ ...RULE, action: 'Deny' }, 'unset')
    const text = read()
    for (const line of [
      'portcullis_authorization_decisions_total{policy="team",rule="authorization[3]",verdict="allowed",action="Allow",cause="matched"} 1',
      'portcullis_authorization_decisions_total{policy="none",rule="none",verdict="allowed",action="none",cause="none"} 1',
      'portcullis_authorization_rule_errors_total{policy="team",rule="authorization[3]",action="Deny",cause="unset"} 1',
    ]) {
      assert.ok(text.includes(`\n${line}\n`), line)
    }
  })

  it('and failures are due for an audit periodically', () => {
    const { own } = started()
    const due = Array.from({ length: 3 * 16_384 }, () => own.shouldAudit())
    assert.equal(due.filter(Boolean).length, 3)
  })

  it('in a bounded number of series', () => {
    const { own, read } = started()
    for (let index = 0; index < 10_000; index++) own.admitted({ ...RULE, index }).inc()
    const series = read().match(/^portcullis_authorization_decisions_total\{/gm) ?? []
    assert.ok(series.length <= 2_001)
    assert.match(read(), /policy="other",rule="other",verdict="allowed",action="Allow"/)
  })
})
