import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  parseTraceparent,
  parseTracestate,
  writeTraceparent,
  writeTracestate,
} from './trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('traceparent', () => {
  for (const [name, header, flags] of [
    ['sampled', `00-${TRACE}-${SPAN}-01`, 1],
    ['not sampled', `00-${TRACE}-${SPAN}-00`, 0],
    ['random', `00-${TRACE}-${SPAN}-03`, 3],
    ['flags to come', `00-${TRACE}-${SPAN}-ff`, 3],
    ['a version to come', `01-${TRACE}-${SPAN}-01`, 1],
    ['a version to come, that says more', `cc-${TRACE}-${SPAN}-01-what-the-future-has`, 1],
  ] as const) {
    it(`${name} is taken`, () => {
      assert.deepEqual(parseTraceparent(header), { traceId: TRACE, spanId: SPAN, flags })
    })
  }

  for (const [name, header] of [
    ['absent', undefined],
    ['empty', ''],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['version 00 that says more', `00-${TRACE}-${SPAN}-01-x`],
    ['version 00 with a hyphen more', `00-${TRACE}-${SPAN}-01-`],
    ['a version to come, without a hyphen', `01-${TRACE}-${SPAN}-01x`],
    ['trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['no hexadecimal', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
    ['trace id too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['trace id too long', `00-a${TRACE}-${SPAN}-01`],
    ['span id too short', `00-${TRACE}-${SPAN.slice(1)}-01`],
    ['flags too short', `00-${TRACE}-${SPAN}-1`],
    ['flags too long', `00-${TRACE}-${SPAN}-001`],
    ['spaces before', ` 00-${TRACE}-${SPAN}-01`],
    ['spaces behind', `00-${TRACE}-${SPAN}-01 `],
    ['a line end behind', `00-${TRACE}-${SPAN}-01\n`],
    ['a future with a line end', `01-${TRACE}-${SPAN}-01-\nx`],
    ['two of them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['underscores', `00_${TRACE}_${SPAN}_01`],
  ] as const) {
    it(`${name} is not`, () => assert.equal(parseTraceparent(header), undefined))
  }

  const hex = (length: number) =>
    fc
      .string({
        unit: fc.constantFrom(...'0123456789abcdef'),
        minLength: length,
        maxLength: length,
      })
      .filter((digits) => !/^0+$/.test(digits))

  it('survives a round trip', () => {
    fc.assert(
      fc.property(hex(32), hex(16), fc.integer({ min: 0, max: 3 }), (traceId, spanId, flags) => {
        const context = { traceId, spanId, flags }
        assert.deepEqual(parseTraceparent(writeTraceparent(context)), context)
      }),
    )
  })

  it('follows the grammar, whatever was parsed', () => {
    const pieces = fc.constantFrom('00', 'ff', '01', '-', TRACE, SPAN, '0', 'G', ' ', '\n', '-x')
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 12 }), (parts) => {
        const context = parseTraceparent(parts.join(''))
        if (context === undefined) return
        assert.match(writeTraceparent(context), /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/)
      }),
    )
  })
})

describe('tracestate', () => {
  for (const [name, header, expected] of [
    ['one member', 'a=1', 'a=1'],
    [
      'several',
      'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
      'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    ],
    ['spaces and tabs between', 'a=1 ,\t b=2', 'a=1,b=2'],
    ['empty members', 'a=1,,b=2,', 'a=1,b=2'],
    ['a tenant', 'fw529a3039@dt=x', 'fw529a3039@dt=x'],
    ['all that a key may have', '0a_-*/z=1', '0a_-*/z=1'],
    ['all that a value may have', 'a=!"#$%&\'()*+-./09:;<>?@AZ[\\]^_`az{|}~', undefined],
    ['a space within a value', 'a=1 2', 'a=1 2'],
    ['the longest key', `${'k'.repeat(256)}=1`, undefined],
    ['the longest value', `k=${'v'.repeat(256)}`, undefined],
  ] as const) {
    it(`${name} is taken`, () => {
      const state = parseTracestate(header)
      assert.ok(state !== undefined)
      assert.equal(writeTracestate(state), expected ?? header)
    })
  }

  for (const [name, header] of [
    ['absent', undefined],
    ['empty', ''],
    ['only commas', ' , ,'],
    ['no value', 'a'],
    ['an empty value', 'a='],
    ['an empty key', '=1'],
    ['upper case', 'A=1'],
    ['a key that begins with an underscore', '_a=1'],
    ['a key too long', `${'k'.repeat(257)}=1`],
    ['a value too long', `k=${'v'.repeat(257)}`],
    ['equals within a value', 'a=1=2'],
    ['a control character', 'a=\u0001'],
    ['beyond ASCII', 'a=ü'],
    ['a tenant that begins with a digit', 'a@1x=1'],
    ['two ats', 'a@b@c=1'],
    ['a system too long', `a@${'s'.repeat(15)}=1`],
    ['a key twice', 'a=1,b=2,a=3'],
    ['33 members', Array.from({ length: 33 }, (_, i) => `k${i}=1`).join(',')],
  ] as const) {
    it(`${name} is not`, () => assert.equal(parseTracestate(header), undefined))
  }

  it('is truncated to 512 characters: long members first, then the oldest', () => {
    const long = ['long', 'x'.repeat(200)] as const
    const short = Array.from({ length: 20 }, (_, i) => [`k${i}`, 'y'.repeat(20)] as const)
    const written = writeTracestate([long, ...short])
    assert.ok(written.length <= 512)
    assert.ok(written.startsWith('k0=') && !written.includes('long'))
    assert.equal(parseTracestate(written)?.length, 20)
    const many = Array.from({ length: 32 }, (_, i) => [`k${i}`, 'y'.repeat(60)] as const)
    assert.equal(parseTracestate(writeTracestate(many))?.length, 8)
  })

  it('round-trips any members', () => {
    const key = fc.stringMatching(/^[a-z0-9][a-z0-9_\-*/]{0,6}$/)
    const value = fc.stringMatching(/^[ -+\--<>-~]{0,6}[!-+\--<>-~]$/)
    const members = fc.uniqueArray(fc.tuple(key, value), { selector: ([k]) => k, maxLength: 20 })
    fc.assert(
      fc.property(members, (members) => {
        // A space at the end of a value looks like one before the next member.
        const state = members.filter(([, v]) => v.trimEnd() === v)
        const read = parseTracestate(writeTracestate(state))
        assert.deepEqual(read, state.length === 0 ? undefined : state)
      }),
    )
  })
})
