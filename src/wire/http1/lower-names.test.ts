import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type FieldLines, fieldLine, joinLines, NO_LINES } from './field-lines.ts'
import { fieldName, fieldValue } from './fields.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { lowerLines } from './lower-names.ts'
import { HEAD_LIMITS } from './message.ts'

function read(text: string, lowersNames: boolean): RequestHead {
  const head = new RequestHead()
  head.lowersNames = lowersNames
  const bytes = Buffer.from(text, 'latin1')
  assert.equal(readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head), bytes.length)
  return head
}

const token = fc.string({ unit: fc.constantFrom(...'abzABZ-_.09'), minLength: 1, maxLength: 12 })
const value = fc.string({ unit: fc.constantFrom(...'aZ:- \t,É'), maxLength: 20 })
const field = fc.tuple(
  token.map((name) => `X-${name}`),
  value,
)

describe('names in lower case', () => {
  it('change nothing else in a head', () => {
    fc.assert(
      fc.property(fc.array(field), (fields) => {
        const lines = fields.map(([name, own]) => `${name}:${own}\r\n`).join('')
        const text = `GET /A?B HTTP/1.1\r\nHost: A.Test\r\n${lines}\r\n`
        const [plain, lowered] = [read(text, false).fields, read(text, true).fields]
        assert.equal(lowered.count, plain.count)
        assert.equal(plain.text, text)
        assert.ok(lowered.text.startsWith('GET /A?B HTTP/1.1\r\nhost: A.Test\r\n'))
        for (let i = 0; i < plain.count; i++) {
          assert.equal(fieldName(lowered, i), fieldName(plain, i).toLowerCase())
          assert.equal(fieldValue(lowered, i), fieldValue(plain, i))
        }
        assert.equal(lowered.text.length, plain.text.length)
      }),
    )
  })

  it('keep the values of added lines', () => {
    fc.assert(
      fc.property(fc.array(field), (fields) => {
        const join = (all: readonly (readonly [string, string])[]) =>
          all.reduce<FieldLines>(
            (lines, [name, own]) => joinLines(lines, fieldLine(name, own) ?? NO_LINES),
            NO_LINES,
          )
        const expected = join(fields.map(([name, own]) => [name.toLowerCase(), own]))
        assert.equal(lowerLines(join(fields)), expected)
      }),
    )
  })
})
