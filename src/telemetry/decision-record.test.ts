import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DECISION_FIELDS, type DecisionRecord } from './decision-record.ts'

/** All fields of a record: the compiler reports missing ones. */
const ALL: { readonly [name in keyof Required<DecisionRecord>]: true } = {
  id: true,
  time: true,
  kind: true,
  stage: true,
  verdict: true,
  enforced: true,
  cause: true,
  reason: true,
  detail: true,
  credentials: true,
  by: true,
  call: true,
  variable: true,
  present: true,
  rule: true,
  invalid: true,
  nearest: true,
  audited: true,
  examined: true,
  gateway: true,
  listener: true,
  route: true,
  backend: true,
  provider: true,
  skipped: true,
  method: true,
  host: true,
  path: true,
  status: true,
  port: true,
  source: true,
  peer: true,
  sni: true,
  identified: true,
  attributes: true,
}

describe('the decision record reference', () => {
  it('lists each field once', () => {
    const names = DECISION_FIELDS.map(({ name }) => name)
    assert.deepEqual(names.toSorted(), Object.keys(ALL).toSorted())
  })
})
