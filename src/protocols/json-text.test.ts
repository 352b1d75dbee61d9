import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { editJson, type JsonVisit, jsonMembers } from './json-text.ts'

describe('edits of a JSON text', () => {
  it('leave the rest unchanged', () => {
    const text = '{ "a": 1.0, "b": [1e3, {"c": "x"}], "d": null }'
    const edited = editJson(text, (path) => {
      if (path.join('.') === 'b.1.c') return { text: '"y"' }
      return path[0] === 'd' ? 'drop' : 'enter'
    })
    assert.equal(edited, '{"a":1.0,"b":[1e3,{"c":"y"}]}')
    assert.equal(
      editJson(text, () => 'enter'),
      text,
    )
  })

  it('report where each value is, and how it begins', () => {
    const seen: string[] = []
    editJson('{"a":[1,{"b":"x"}],"c":{}}', (path, _, first): JsonVisit => {
      seen.push(`${path.join('.')} ${first}`)
      return 'enter'
    })
    assert.deepEqual(seen, [' {', 'a [', 'a.0 1', 'a.1 {', 'a.1.b "', 'c {'])
  })

  it('return members verbatim', () => {
    assert.deepEqual(
      [...jsonMembers('{"a": [1, 2], "b":"\\u0061"}')],
      [
        ['a', '[1, 2]'],
        ['b', '"\\u0061"'],
      ],
    )
  })
})
