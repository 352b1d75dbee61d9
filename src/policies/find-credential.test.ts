import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { BadCredential } from './authenticator.ts'
import type { SentLocation } from './credential-location.ts'
import type { CompileContext } from './define.ts'
import { compileLocation, maySend, placeOf, withoutCookie } from './find-credential.ts'

const BEARER = { kind: 'header', name: 'authorization', prefix: 'Bearer ' } as const
const PLAIN = { kind: 'header', name: 'x-key', prefix: '' } as const
const COOKIE = { kind: 'cookie', name: 'key' } as const
const QUERY = { kind: 'queryParameter', name: 'key' } as const
const EITHER = { ...BEARER, alsoIn: ['x-key', 'x-other'] } as const

const open = (location: SentLocation) =>
  compileLocation(location, {} as ValidPolicy, '', {} as CompileContext)

describe('a credential', () => {
  for (const [location, name, cases] of [
    [
      BEARER,
      'authorization',
      [
        ['Bearer abc', 'abc'],
        ['bearer abc', 'abc'],
        ['BEARER   abc ', 'abc'],
        ['Bearer ', ''],
        // Another parser may accept these as tokens.
        ['Bearer', ''],
        [' Bearer abc', ''],
        ['Bearer,abc', ''],
        ['Bearer\tabc', ''],
        ['Basic abc', undefined],
        ['Bearerabc', undefined],
        ['Bearer a, Bearer b', 'repeated'],
        ['Basic a, Bearer b', 'repeated'],
        ['Basic a,bearer', 'repeated'],
        ['Basic a, Bearerb', undefined],
        ['', undefined],
      ],
    ],
    [
      PLAIN,
      'x-key',
      [
        ['abc', 'abc'],
        [' abc ', 'abc'],
        ['a b', 'a b'],
        ['a, b', 'repeated'],
      ],
    ],
    [
      COOKIE,
      'cookie',
      [
        ['key=abc', 'abc'],
        ['a=b; key = "a b" ;c=d', 'a b'],
        ['key="a', '"a'],
        ['key=a=b', 'a=b'],
        ['key=', ''],
        ['key', ''],
        ['monkey=abc', undefined],
        ['keys=abc', undefined],
        ['a=key', undefined],
        ['key=a; key=b', 'repeated'],
        ['key=a; key=a', 'repeated'],
        ['', undefined],
      ],
    ],
    [
      QUERY,
      'query',
      [
        ['?key=abc', 'abc'],
        ['?a=b&key=a+b%26', 'a b&'],
        ['?%6bey=abc', 'abc'],
        ['?key=%zz', '%zz'],
        ['?key=a=b', 'a=b'],
        ['?key', ''],
        ['?keys=abc&a=key', undefined],
        ['?key=a&k%65y=b', 'repeated'],
        ['', undefined],
      ],
    ],
  ] as const) {
    for (const [value, expected] of cases) {
      const shown = expected === undefined ? 'none' : JSON.stringify(expected)
      it(`in ${name} \`${value}\`: ${shown}`, () => {
        const isQuery = name === 'query'
        const exchange = exchangeOf(isQuery ? { url: `/${value}` } : { headers: { [name]: value } })
        const place = open(location)
        const found = place.find(exchange)
        if (expected === 'repeated') assert.ok(found instanceof BadCredential)
        else assert.equal(found, expected)
        const isText = expected !== 'repeated'
        assert.equal(place.credential.read(exchange), isText ? expected : undefined)
        assert.equal(maySend(location, exchange), expected !== undefined)
      })
    }

    it(`that the request does not have in ${name}: none`, () => {
      assert.equal(open(location).find(exchangeOf()), undefined)
    })
  }

  for (const [headers, expected] of [
    [{ authorization: 'Bearer a' }, 'a'],
    [{ 'x-key': 'b' }, 'b'],
    [{ 'x-other': 'c' }, 'c'],
    [{ authorization: 'Bearer a', 'x-key': 'a' }, 'a'],
    [{ authorization: 'Bearer a', 'x-key': 'b' }, 'repeated'],
    [{ authorization: 'Basic a', 'x-other': 'b' }, 'b'],
    [{}, undefined],
  ] as const) {
    it(`in any of several headers ${JSON.stringify(headers)}: ${expected ?? 'none'}`, () => {
      const found = open(EITHER).find(exchangeOf({ headers }))
      if (expected === 'repeated') assert.ok(found instanceof BadCredential)
      else assert.equal(found, expected)
    })
  }
})

describe('a credential that is not forwarded', () => {
  it('in headers: all that may contain it are removed', () => {
    const exchange = exchangeOf()
    open(EITHER).remove(exchange)
    assert.deepEqual([...exchange.requestEdit.removed].sort(), [
      'authorization',
      'x-key',
      'x-other',
    ])
  })

  for (const [cookies, removed, added] of [
    ['a=b; key=x; c=d', ['cookie'], [['cookie', 'a=b; c=d']]],
    ['key=x;key=y; ;', ['cookie'], []],
    ['a=b', [], []],
  ] as const) {
    it(`in the cookies \`${cookies}\`: leaves \`${added[0]?.[1] ?? ''}\``, () => {
      const exchange = exchangeOf({ headers: { cookie: cookies } })
      open(COOKIE).remove(exchange)
      assert.deepEqual([exchange.requestEdit.removed, exchange.requestEdit.added], [removed, added])
    })
  }

  it('in a cookie is removed from what an earlier policy left of the cookies', () => {
    for (const [left, expected] of [
      ['c=d; key=x', [['cookie', 'c=d']]],
      [undefined, []],
    ] as const) {
      const exchange = exchangeOf({ headers: { cookie: 'a=b; c=d; key=x' } })
      exchange.requestEdit = headerEdit(
        left === undefined ? { remove: ['cookie'] } : { set: [{ name: 'Cookie', value: left }] },
      )
      open(COOKIE).remove(exchange)
      assert.deepEqual(exchange.requestEdit.added, expected)
    }
  })

  for (const [search, expected] of [
    ['?key=x', ''],
    ['?a=b&key=x&c=d', '?a=b&c=d'],
    ['?k%65y=x&key=y&a', '?a'],
    ['?a=%zz&keys=x', '?a=%zz&keys=x'],
    ['?', '?'],
    ['', ''],
  ] as const) {
    it(`in the query \`${search}\`: leaves \`${expected}\``, () => {
      const exchange = exchangeOf({ url: `/p${search}` })
      open(QUERY).remove(exchange)
      assert.equal(exchange.search, expected)
    })
  }

  it('leaves other cookies as they are', () => {
    assert.equal(withoutCookie(' a=b;;key = x ; c', 'key'), 'a=b; c')
    assert.equal(withoutCookie('key', 'key'), '')
  })
})

describe('the credential of an expression', () => {
  const opened = (value: unknown, field = '') => {
    const fields: string[] = []
    const context = {
      compile: (_: string, place: { field: string }) => {
        fields.push(place.field)
        return { evaluate: () => () => value }
      },
    } as unknown as CompileContext
    const location = { kind: 'expression', expression: 'x' } as const
    return { place: compileLocation(location, {} as ValidPolicy, field, context), fields }
  }

  it('is a text that is not empty', () => {
    for (const [value, expected] of [
      ['abc', 'abc'],
      ['', undefined],
      [7n, undefined],
      [undefined, undefined],
    ] as const) {
      const { place } = opened(value)
      assert.equal(place.find(exchangeOf()), expected)
      assert.equal(place.credential.location, undefined)
    }
  })

  it('is compiled at its own field, may be in any request, and shares no place', () => {
    assert.deepEqual(opened('x').fields, ['location.expression'])
    assert.deepEqual(opened('x', 'own').fields, ['own.location.expression'])
    const location = { kind: 'expression', expression: 'x' } as const
    assert.equal(maySend(location, exchangeOf()), true)
    assert.deepEqual(
      [placeOf(location), placeOf(COOKIE), placeOf(PLAIN)],
      ['', 'cookie key', 'header x-key'],
    )
  })
})
