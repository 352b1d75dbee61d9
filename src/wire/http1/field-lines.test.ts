import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fieldLine, hideOfSet, isFieldText, isOfSet, nameSet } from './field-lines.ts'
import { HIDDEN } from './field-names.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { HEAD_LIMITS } from './message.ts'

it('field text accepts exactly single-byte characters that are not controls', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const isControl = code < 0x20 || code === 0x7f
    const isFit = code === 0x09 || (!isControl && code <= 0xff)
    const own = String.fromCharCode(code)
    for (const text of [own, `${own}a`, `a${own}`, `a${own}a`, own + own])
      assert.equal(isFieldText(text), isFit, `${code}`)
  }
  assert.equal(isFieldText(''), true)
})

/** Names of each length, with the characters that are compared in a special way. */
const NAMES = Array.from({ length: 70 }, (_, at) => 'x-Yz_w'.repeat(12).slice(0, at + 1)).filter(
  (name) => !name.endsWith('-') && !name.endsWith('_'),
)

function headWith(names: readonly string[]): RequestHead {
  const head = new RequestHead()
  const lines = names.map((name) => `${name}: v\r\n`).join('')
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`)
  assert.equal(readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head), bytes.length)
  return head
}

it('a set of names has a field of any length, in any case, with dashes and underscores alike', () => {
  for (const name of NAMES) {
    for (const written of [name, name.toUpperCase(), name.toLowerCase().replaceAll('-', '_')]) {
      const set = nameSet([written])
      const same = [name, name.replaceAll('_', '-'), name.toLowerCase().replaceAll('-', '_')]
      const others = [`${name}x`, name.slice(1), `y${name.slice(1)}`, `${name.slice(0, -1)}q`]
      const fields = [...same, ...others.filter((other) => other !== '' && other !== 'host')]
      const head = headWith(fields)
      const found = fields.filter((_, at) => isOfSet(set, head.fields, at + 1))
      assert.deepEqual(found, same, written)
    }
  }
})

it('of several names, each is found, and no other of the same length', () => {
  const [some, others] = [
    NAMES.filter((_, at) => at % 2 === 0),
    NAMES.filter((_, at) => at % 2 === 1),
  ]
  const changed = some.map((name) => `${name.slice(0, -1)}q`)
  const { fields } = headWith([...some, ...others, ...changed].slice(0, 99))
  const set = nameSet(some)
  hideOfSet(set, fields)
  const hidden = Array.from(fields.kinds.subarray(1, fields.count), (kind) => kind === HIDDEN)
  assert.deepEqual(
    hidden,
    Array.from({ length: 99 }, (_, at) => at < some.length).slice(0, hidden.length),
  )
})

it('a line is made of any token but those that the writer sets, and of any field text', () => {
  for (const [name, value, expected] of [
    ['x-a', 'b', 'x-a: b\r\n'],
    ['X-A', '', 'X-A: \r\n'],
    ['x a', 'b', undefined],
    ['x:', 'b', undefined],
    ['', 'b', undefined],
    ['content-length', '1', undefined],
    ['Transfer-Encoding', 'chunked', undefined],
    ['x-a', 'b\r\nc: d', undefined],
    ['x-a', 'Ā', 'x-a: \xc4\x80\r\n'],
    ['x-a', '\xff\t', 'x-a: \xc3\xbf\t\r\n'],
    ['x-a', '\ud800', undefined],
    ['x-a', '\u010d\n', undefined],
    ['x-a', '\x7f', undefined],
  ] as const) {
    assert.equal(fieldLine(name, value), expected, name)
  }
})
