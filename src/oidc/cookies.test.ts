import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import { CookieJar } from '../../test/oidc/scripted-provider.ts'
import { clearChunks, readChunks, readCookies, writeChunks, writeCookie } from './cookies.ts'

const TLS = { isSecure: true, maxAge: 60 }
const NONE = new Map<string, string>()
/** One cookie has room for so many characters of a value, and a request for so many cookies. */
const [ROOM, MAX] = [3_600, 4]

const namesOf = (lines: readonly string[] = []) => lines.map((line) => line.split('=', 1)[0])

describe('readCookies', () => {
  for (const [header, expected] of [
    [undefined, []],
    ['', []],
    ['a=1', [['a', '1']]],
    [
      'a=1; b=2;c=3',
      [
        ['a', '1'],
        ['b', '2'],
        ['c', '3'],
      ],
    ],
    ['  a =  1  ', [['a', '1']]],
    ['a=x=y==', [['a', 'x=y==']]],
    ['a=', [['a', '']]],
    ['=1; a', []],
    ['a=first; a=second', [['a', 'first']]],
    ['x', []],
    ['=', []],
  ] as const) {
    it(`reads ${header === undefined ? 'no header' : `\`${header}\``}`, () => {
      assert.deepEqual([...readCookies(header)], expected)
    })
  }
})

describe('writeCookie', () => {
  it('binds a cookie to the host, to TLS and to navigation, and hides it from scripts', () => {
    assert.equal(
      writeCookie('n', 'v', { isSecure: true, maxAge: 7 }),
      'n=v; Path=/; Max-Age=7; HttpOnly; SameSite=Lax; Secure',
    )
    assert.equal(
      writeCookie('n', 'v', { isSecure: false, maxAge: 0 }),
      'n=v; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    )
  })
})

describe('a value in several cookies', () => {
  for (const [length, count] of [
    [1, 1],
    [ROOM - 1, 1],
    [ROOM, 1],
    [ROOM + 1, 2],
    [2 * ROOM, 2],
    [2 * ROOM + 1, 3],
    [MAX * ROOM, MAX],
  ] as const) {
    it(`of ${length} characters has ${count} parts, each within the limit of browsers`, () => {
      const lines = writeChunks('s', 'x'.repeat(length), NONE, TLS) ?? []
      assert.equal(lines.length, count)
      for (const line of lines) assert.ok(line.length <= 4_096, String(line.length))
    })
  }

  it('is rejected if it is longer than all parts', () => {
    assert.equal(writeChunks('s', 'x'.repeat(MAX * ROOM + 1), NONE, TLS), undefined)
  })

  it('is read back, whatever the browser had before and whatever other cookies it has', () => {
    const text = fc
      .tuple(fc.constantFrom(1, 2, ROOM - 1, ROOM, ROOM + 1, 2 * ROOM, 4 * ROOM), fc.nat(9))
      .map(([length, digit]) => `${digit}.`.repeat(length).slice(0, length))
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (values) => {
        const jar = new CookieJar().set([
          's.=a; Path=/',
          's.10=b; Path=/',
          't.0=1.c; Path=/',
          'ss.0=d; Path=/',
        ])
        const others = jar.names
        for (const value of values) {
          jar.set(writeChunks('s', value, readCookies(jar.header), TLS) ?? [])
          assert.equal(readChunks('s', readCookies(jar.header)), value)
          const parts = jar.names.filter((name) => !others.includes(name))
          assert.equal(parts.length, Math.ceil(value.length / ROOM))
        }
        jar.set(clearChunks('s', readCookies(jar.header), TLS))
        assert.deepEqual(jar.names, others)
      }),
      fuzz(0.25),
    )
  })

  it('does not take leftovers of a longer value for its parts, even if they come back', () => {
    const long = new CookieJar().set(writeChunks('s', 'l'.repeat(3 * ROOM), NONE, TLS) ?? [])
    const short = writeChunks('s', 'k', NONE, TLS) ?? []
    assert.equal(readChunks('s', readCookies(long.set(short).header)), 'k')
  })

  it('is not read if a part is missing', () => {
    const jar = new CookieJar().set(writeChunks('s', 'x'.repeat(3 * ROOM), NONE, TLS) ?? [])
    const cookies = readCookies(jar.header)
    for (const name of ['s.0', 's.1', 's.2']) {
      const fewer = new Map([...cookies].filter(([one]) => one !== name))
      assert.equal(readChunks('s', fewer), undefined, name)
    }
  })

  for (const first of ['', 'x', '1.', '.x', '0.x', '10.x', 'a.x', '1x']) {
    it(`does not begin with \`${first}\``, () => {
      assert.equal(readChunks('s', new Map([['s.0', first]])), undefined)
    })
  }

  it('is read up to the number of parts that it names', () => {
    const cookies = new Map([
      ['s.0', '2.a'],
      ['s.1', 'b'],
      ['s.2', 'c'],
    ])
    assert.equal(readChunks('s', cookies), 'ab')
  })

  it('is removed part by part, and so are leftovers of a longer one', () => {
    const before = new Map(
      ['s.0', 's.1', 's.2', 's.9', 's.x', 's.11', 's', 'so.1'].map((n) => [n, 'v']),
    )
    const cleared = clearChunks('s', before, TLS)
    assert.deepEqual(namesOf(cleared), ['s.0', 's.1', 's.2', 's.9'])
    for (const line of cleared) assert.match(line, /^s\.\d=; .*Max-Age=0; .*Secure$/)
    const lines = writeChunks('s', 'x'.repeat(ROOM + 1), before, TLS)
    assert.deepEqual(namesOf(lines), ['s.0', 's.1', 's.2', 's.9'])
    assert.deepEqual(
      lines?.map((line) => /Max-Age=(\d+)/.exec(line)?.[1]),
      ['60', '60', '0', '0'],
    )
  })
})
