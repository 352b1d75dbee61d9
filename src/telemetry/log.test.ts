import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/fuzz/any-text.ts'
import { createLogger, LEVELS, type LogFields, type LoggerOptions, type LogValue } from './log.ts'
import { Milliseconds } from './time-text.ts'

const TIME = '2026-02-03T04:05:06.123456Z'

function logTo(lines: string[], options: Partial<LoggerOptions> = {}) {
  return createLogger({
    format: 'text',
    level: 'info',
    clock: () => 1_770_091_506_123_456,
    write: (line) => lines.push(line),
    ...options,
  })
}

function lineOf(fields: LogFields, format: 'text' | 'json', scope = 'request'): string {
  const lines: string[] = []
  logTo(lines, { format }).info(scope, fields)
  return lines.join('')
}

describe('a log record as text', () => {
  it('of a denied connection matches the specification', () => {
    const lines: string[] = []
    logTo(lines).error('request', {
      'src.addr': '203.0.113.9:51410',
      'tls.sni': 'db.example',
      protocol: 'tcp',
      error: 'authorization failed',
      duration: new Milliseconds(0.4127),
    })
    assert.deepEqual(lines, [
      `${TIME}\terror\trequest src.addr=203.0.113.9:51410 tls.sni=db.example protocol=tcp ` +
        'error="authorization failed" duration=0.413ms\n',
    ])
  })

  for (const [name, value, text] of [
    ['a word', 'GET', 'GET'],
    ['a path', '/a/b;c?d', '/a/b;c?d'],
    ['an empty string', '', '""'],
    ['a space', 'a b', '"a b"'],
    ['an equals sign', 'a=b', '"a=b"'],
    ['a quote', 'a"b', '"a\\"b"'],
    ['a backslash', 'a\\b', '"a\\\\b"'],
    ['a forged record', 'x\n2026 error request a=b', '"x\\n2026 error request a=b"'],
    ['an escape sequence', '\u001b[31m', '"\\u001b[31m"'],
    ['a direction mark', 'a\u202eb', '"a\\u202eb"'],
    ['letters beyond ASCII', 'Zoë', '"Zoë"'],
    ['a whole number', 403, '403'],
    ['a fraction', 0.5, '0.5'],
    ['no number', Number.NaN, 'NaN'],
    ['a large number', 18446744073709551615n, '18446744073709551615'],
    ['a boolean', true, 'true'],
    ['nothing', null, 'null'],
    ['a list', ['a', 1], '"[\\"a\\",1]"'],
    ['an object', { a: { b: 'c' } }, '"{\\"a\\":{\\"b\\":\\"c\\"}}"'],
  ] as const) {
    it(`${name}: v=${text}`, () => {
      assert.equal(lineOf({ v: value }, 'text'), `${TIME}\tinfo\trequest v=${text}\n`)
    })
  }

  it('omits undefined fields, and requires none', () => {
    assert.equal(lineOf({ a: 1, b: undefined, c: 2 }, 'text'), `${TIME}\tinfo\trequest a=1 c=2\n`)
    assert.equal(lineOf({}, 'text'), `${TIME}\tinfo\trequest\n`)
  })

  it('sanitizes names', () => {
    const fields = { 'a b=c\n': 1, '': 2, 'ok.name-1/x@y:z': 3 }
    assert.equal(
      lineOf(fields, 'text', 'my scope\t'),
      `${TIME}\tinfo\tmy_scope_ a_b_c_=1 _=2 ok.name-1/x@y:z=3\n`,
    )
  })
})

describe('a log record as JSON', () => {
  it('is one object with time, level and scope first', () => {
    assert.equal(
      lineOf({ 'http.status': 403, error: 'authorization failed', gone: undefined }, 'json'),
      `{"time":"${TIME}","level":"info","scope":"request","http.status":403,"error":"authorization failed"}\n`,
    )
  })

  for (const [name, fields, expected] of [
    ['nothing', {}, ''],
    ['only what is undefined', { a: undefined }, ''],
    ['numbers', { n: -0.5, z: -0, m: Number.NaN }, ',"n":-0.5,"z":0,"m":null'],
    [
      'lists and objects',
      { l: [1, undefined, 'a'], o: { p: null } },
      ',"l":[1,null,"a"],"o":{"p":null}',
    ],
  ] as const) {
    it(`of ${name} is the same with and without a character to escape`, () => {
      const head = `{"time":"${TIME}","level":"info","scope":"request"`
      assert.equal(lineOf(fields, 'json'), `${head}${expected}}\n`)
      const escaped = lineOf({ ...fields, x: '\u202e' }, 'json')
      assert.equal(escaped, `${head}${expected},"x":"\\u202e"}\n`)
    })
  }

  it('renames fields with reserved names', () => {
    const parsed = JSON.parse(lineOf({ time: 1, level: 2, scope: 3 }, 'json'))
    assert.deepEqual(parsed, {
      time: TIME,
      level: 'info',
      scope: 'request',
      _time: 1,
      _level: 2,
      _scope: 3,
    })
  })

  it('is JSON even for values without a JSON form', () => {
    const cyclic: { self?: LogValue } = {}
    cyclic.self = cyclic as LogValue
    const odd = { n: Number.NaN, i: Number.NEGATIVE_INFINITY, b: 2n ** 64n, c: cyclic as LogValue }
    const line = lineOf(odd, 'json')
    assert.ok(line.includes('"n":null,"i":null,"b":18446744073709551616'))
    assert.ok(JSON.parse(line).c.self.self.self !== undefined)
    assert.ok(line.length < 1000)
  })
})

const TAKEN: ReadonlySet<string> = new Set(['time', 'level', 'scope', '__proto__'])

describe('any log record', () => {
  const value = fc.letrec<{ value: LogValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      anyText(),
      fc.double(),
      fc.bigInt(),
      fc.boolean(),
      fc.constant(null),
      fc.constant(undefined),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(anyText({ maxLength: 8 }), tie('value'), { maxKeys: 4 }),
    ),
  })).value
  const fields = fc.dictionary(anyText({ maxLength: 12 }), value, { maxKeys: 8 })

  it('is a single line with all fields as text', () => {
    fc.assert(
      fc.property(fields, (fields) => {
        const line = lineOf(fields, 'text')
        assert.doesNotMatch(line.slice(0, -1).replaceAll('\t', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
        assert.ok(line.endsWith('\n') && line.isWellFormed())
        const count = Object.values(fields).filter((each) => each !== undefined).length
        assert.equal(splitFields(line).length, count)
      }),
      { numRuns: 150 },
    )
  })

  it('is a single JSON line as JSON', () => {
    fc.assert(
      fc.property(fields, (fields) => {
        const line = lineOf(fields, 'json')
        assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
        const parsed = JSON.parse(line)
        for (const [name, value] of Object.entries(fields)) {
          if (typeof value !== 'string' || TAKEN.has(name)) continue
          assert.equal(parsed[name], value)
        }
      }),
      { numRuns: 150 },
    )
  })
})

describe('a logger', () => {
  for (const level of [...LEVELS, 'off'] as const) {
    it(`at ${level} writes what is at least as grave`, () => {
      const lines: string[] = []
      const log = logTo(lines, { level })
      for (const each of LEVELS) log[each]('x')
      const expected = LEVELS.slice(0, level === 'off' ? 0 : LEVELS.indexOf(level) + 1)
      assert.deepEqual(
        lines.map((line) => line.split('\t')[1]),
        expected,
      )
      assert.deepEqual(LEVELS.filter(log.isOn), expected)
      assert.equal(log.level(), level)
    })
  }

  it('changes its level at run time', () => {
    const lines: string[] = []
    const log = logTo(lines)
    log.debug('x')
    log.setLevel('debug')
    log.debug('y')
    log.setLevel('off')
    log.error('z')
    assert.equal(lines.length, 1)
    assert.match(lines[0] as string, /\ty\n$/)
  })

  it('samples, but writes every error and warning', () => {
    const lines: string[] = []
    const log = logTo(lines, { sample: 0 })
    for (const level of LEVELS) log[level]('x')
    assert.equal(lines.length, 2)
    log.setSample(0.5)
    for (let i = 0; i < 1000; i++) log.info('x')
    assert.ok(lines.length > 350 && lines.length < 650, `${lines.length} of 1000`)
  })
})

/** Splits like a logfmt reader: at spaces outside quotes. */
function splitFields(line: string): readonly string[] {
  const rest = line.slice(line.lastIndexOf('\trequest') + '\trequest'.length).trimEnd()
  const fields = rest.match(/ [^ ="]+=(?:"(?:[^"\\]|\\.)*"|[^ "]+)/g) ?? []
  assert.equal(fields.join(''), rest)
  return fields
}
