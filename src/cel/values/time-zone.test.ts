import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fuel } from './fuel.ts'
import { timeZone } from './time-zone.ts'
import { parseTimestamp } from './timestamp.ts'

describe('timeZone', () => {
  for (const [zone, at, hours] of [
    ['UTC', '2009-02-13T23:31:30Z', 0],
    ['02:00', '2009-02-13T23:31:30Z', 2],
    ['+05:00', '2009-02-13T23:31:30Z', 5],
    ['-02:30', '2009-02-13T23:31:30Z', -2.5],
    ['-00:00', '2009-02-13T23:31:30Z', 0],
    ['23:59', '2009-02-13T23:31:30Z', 23 + 59 / 60],
    ['+5:30', '2009-02-13T23:31:30Z', 5.5],
    ['-2:30', '2009-02-13T23:31:30Z', -2.5],
    ['2:3', '2009-02-13T23:31:30Z', 2.05],
    ['America/Port-au-Prince', '2009-02-13T23:31:30Z', -5],
    ['Etc/GMT+5', '2009-02-13T23:31:30Z', -5],
    ['US/Central', '2009-02-13T23:31:30Z', -6],
    ['America/St_Johns', '2009-02-13T23:31:30Z', -3.5],
    ['Asia/Kathmandu', '2009-02-13T23:31:30Z', 5.75],
    ['Australia/Sydney', '2009-02-13T23:31:30Z', 11],
    ['Europe/Berlin', '2025-03-30T00:59:59Z', 1],
    ['Europe/Berlin', '2025-03-30T01:00:00Z', 2],
    ['Europe/Berlin', '2025-10-26T00:59:59Z', 2],
    ['Europe/Berlin', '2025-10-26T01:00:00Z', 1],
    // Clocks in Newfoundland changed at one minute past midnight.
    ['America/St_Johns', '2009-03-08T03:30:59Z', -3.5],
    ['America/St_Johns', '2009-03-08T03:31:00Z', -2.5],
    ['America/New_York', '0001-01-01T00:00:00Z', -(4 + 56 / 60 + 2 / 3600)],
    ['Asia/Tokyo', '9999-12-31T23:59:59Z', 9],
    ['Africa/Monrovia', '1972-01-07T00:44:29Z', -(44 * 60 + 30) / 3600],
    ['Africa/Monrovia', '1972-01-07T00:44:30Z', 0],
  ] as const) {
    it(`${zone} at ${at} is ${hours} hours east`, () => {
      const seconds = parseTimestamp(at)?.seconds ?? Number.NaN
      assert.equal(timeZone(zone)?.(seconds), Math.round(hours * 3600))
    })
  }

  for (const zone of [
    '',
    'Local',
    'Nowhere/Land',
    '+0200',
    '+02',
    'utc',
    'europe/berlin',
    'Europe/berlin',
    'EUROPE/BERLIN',
    'us/central',
    '002:00',
    '02:60',
    '24:00',
    '02:',
    ':00',
    '+-02:00',
    '02:00:00',
    '../../etc/passwd',
    'UTC\n',
    'Europe/Berlin ',
    'A'.repeat(1_000_000),
  ]) {
    it(`${JSON.stringify(zone.slice(0, 20))} is no zone`, () =>
      assert.equal(timeZone(zone), undefined))
  }

  it('charges for each name that is not cached', () => {
    timeZone('Europe/Paris')
    fuel.left = 0
    timeZone('Europe/Paris')
    assert.equal(fuel.left, 0)
    timeZone('Europe/Vilnius')
    assert.ok(fuel.left <= -1000)
  })
})
