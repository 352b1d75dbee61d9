import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDuration } from '../values/duration.ts'
import { failure } from '../values/failure.ts'
import { parseTimestamp } from '../values/timestamp.ts'
import type { Value } from '../values/value.ts'
import { dispatch } from './dispatch.ts'
import { TIME } from './time.ts'

function call(name: string, ...args: Value[]): Value | undefined {
  const declared = TIME.functions.find((declaration) => declaration.name === name)
  return dispatch(declared?.overloads ?? [], args)
}

const AT = parseTimestamp('2009-02-13T23:31:20.123456789Z') as Value
const EARLY = parseTimestamp('2009-02-13T02:00:00Z') as Value
const FIRST = parseTimestamp('0001-01-01T00:00:00Z') as Value

describe('getters of timestamps', () => {
  for (const [name, time, zone, expected] of [
    ['getFullYear', AT, undefined, 2009],
    ['getMonth', AT, undefined, 1],
    ['getDate', AT, undefined, 13],
    ['getDayOfMonth', AT, undefined, 12],
    ['getDayOfWeek', AT, undefined, 5],
    ['getDayOfYear', AT, undefined, 43],
    ['getHours', AT, undefined, 23],
    ['getMinutes', AT, undefined, 31],
    ['getSeconds', AT, undefined, 20],
    ['getMilliseconds', AT, undefined, 123],
    ['getDate', AT, 'Australia/Sydney', 14],
    ['getDayOfMonth', AT, 'US/Central', 12],
    ['getDayOfMonth', AT, '+11:00', 13],
    ['getDayOfMonth', EARLY, '-02:30', 11],
    ['getDayOfMonth', EARLY, 'America/St_Johns', 11],
    ['getDayOfWeek', AT, 'UTC', 5],
    ['getDayOfYear', AT, 'US/Central', 43],
    ['getFullYear', AT, '-09:30', 2009],
    ['getHours', AT, '02:00', 1],
    ['getMinutes', AT, 'Asia/Kathmandu', 16],
    ['getMonth', AT, 'UTC', 1],
    ['getSeconds', AT, '-00:00', 20],
    ['getMilliseconds', AT, 'US/Central', 123],
    ['getFullYear', FIRST, 'America/New_York', 0],
    ['getDayOfYear', FIRST, 'America/New_York', 365],
    ['getHours', AT, 'Nowhere/Land', undefined],
    ['getHours', AT, '', undefined],
    ['getMilliseconds', AT, '25:00', undefined],
  ] as [string, Value, string | undefined, number | undefined][]) {
    it(`${name}(${zone ?? ''}) is ${expected ?? 'an error'}`, () => {
      assert.equal(zone === undefined ? call(name, time) : call(name, time, zone), expected)
    })
  }

  it('resolve a constant zone once', () => {
    const hours = TIME.functions.find(({ name }) => name === 'getHours')
    const zoned = hours?.overloads.find(({ params }) => params.length === 2)
    assert.equal(zoned?.prepare?.([undefined, 'Asia/Tokyo'])?.(AT), 8)
    assert.equal(zoned?.prepare?.([AT, undefined]), undefined)
    failure.reason = ''
    assert.equal(zoned?.prepare?.([undefined, 'Nowhere/Land']), undefined)
    assert.equal(failure.reason, 'unknown time zone')
  })
})

describe('getters of durations', () => {
  for (const [name, text, expected] of [
    ['getHours', '10000s', 2],
    ['getMinutes', '3730s', 62],
    ['getSeconds', '3730s', 3730],
    ['getMilliseconds', '123.321456789s', 321],
    ['getHours', '-10000s', -2],
    ['getHours', '-1s', 0],
    ['getMinutes', '-59.9s', 0],
    ['getSeconds', '-1.5s', -1],
    ['getMilliseconds', '-1.5s', -500],
    ['getMilliseconds', '-1ns', 0],
  ] as const) {
    it(`${name} of ${text} is ${expected}`, () =>
      assert.ok(Object.is(call(name, parseDuration(text) as Value), expected)))
  }

  for (const name of ['getFullYear', 'getMonth', 'getDate', 'getDayOfWeek']) {
    it(`${name} is none`, () => assert.equal(call(name, parseDuration('1s') as Value), undefined))
  }
})
