import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { encodeJson, parseJson, parseJsonText, setMembers } from './json.ts'

const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

describe('untrusted JSON', () => {
  it('is parsed as JSON.parse does, where that is exact', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(2), (value, spaces) => {
        const text = JSON.stringify(value, null, spaces)
        const expected = JSON.parse(text)
        assert.deepEqual(
          JSON.parse(decode(encodeJson(parseJson(Buffer.from(text)).value))),
          expected,
        )
      }),
    )
  })

  it('keeps numbers that a double cannot represent', () => {
    for (const text of [
      '12345678901234567890',
      '1e400',
      '0.1234567890123456789',
      '-9007199254740993',
    ]) {
      const { value } = parseJson(Buffer.from(`{"a":[${text},1]}`))
      assert.equal(decode(encodeJson(value)), `{"a":[${text},1]}`)
    }
  })

  for (const [text, problem] of [
    ['{"a":1,"a":2}', 'duplicate'],
    ['{"a":1,"\\u0061":2}', 'duplicate'],
    ['{"x":[{"a":1,"a":2}]}', 'duplicate'],
    ['{"a":"b\\":1,\\"a"}', undefined],
    ['{"a":{"a":1}}', undefined],
    ['{"__proto__":1}', undefined],
    ['{"a":1', 'invalid'],
    ['{"a":"1}', 'invalid'],
    ['{"a":01}', 'invalid'],
    ['{"a":1}}', 'invalid'],
    ['', 'invalid'],
    ['[\u0001]', 'invalid'],
    ['['.repeat(300) + ']'.repeat(300), 'deep'],
  ] as const) {
    it(`${text.slice(0, 30)}: ${problem ?? 'fine'}`, () => {
      assert.equal(parseJson(Buffer.from(text)).problem, problem)
    })
  }

  it('rejects bytes that are not UTF-8', () => {
    assert.equal(parseJson(Buffer.from([0x22, 0xc3, 0x28, 0x22])).problem, 'invalid')
  })

  it('is parsed the same way from strings', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(2), (value, spaces) => {
        const text = JSON.stringify(value, null, spaces)
        assert.deepEqual(
          JSON.parse(decode(encodeJson(parseJsonText(text).value))),
          JSON.parse(text),
        )
      }),
    )
    for (const text of [
      '{"a":12345678901234567890}',
      '[1e400]',
      '{"a": [1, -0.12345678901234567]}',
    ]) {
      assert.equal(decode(encodeJson(parseJsonText(text).value)), text.replaceAll(' ', ''))
    }
    // JSON.parse would confuse the second name with the one that followed before.
    parseJsonText('{"q":1,"\\\\":2}')
    assert.deepEqual(Object.keys(parseJsonText('{"q":1,"\\u0062":2}').value ?? {}), ['q', 'b'])
  })

  it('sets members in place and keeps every other byte', () => {
    const text = ' { "a" : 1.0 , "model":"x\\"},{" , "b":[ {"model":2} ], "n": 1e2 } '
    assert.equal(
      decode(setMembers(Buffer.from(text), { model: 'y', stream: true })),
      ' {"stream":true, "a" : 1.0 , "model":"y" , "b":[ {"model":2} ], "n": 1e2 } ',
    )
    assert.equal(decode(setMembers(Buffer.from('{}'), { a: 1 })), '{"a":1}')
  })

  it('sets members so that they are read back, in any object', () => {
    const record = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(record, fc.string(), fc.jsonValue(), fc.nat(2), (before, name, value, spaces) => {
        const written = Buffer.from(JSON.stringify(before, null, spaces))
        const bytes = setMembers(written, { [name]: value })
        const after = JSON.parse(decode(bytes))
        // If the caller has already parsed it, the same bytes cost less.
        assert.equal(
          decode(setMembers(written, { [name]: value }, JSON.parse(decode(written)))),
          decode(bytes),
        )
        assert.deepEqual(after[name], JSON.parse(JSON.stringify(value)))
        assert.deepEqual(
          { ...after, [name]: 0 },
          JSON.parse(JSON.stringify({ ...before, [name]: 0 })),
        )
      }),
    )
  })
})
