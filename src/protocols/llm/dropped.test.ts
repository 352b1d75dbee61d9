import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { droppedText } from './parts.ts'

describe('dropped fields, in a header and in the log', () => {
  it('are a list of names', () => {
    assert.equal(droppedText(['seed', 'tool_choice: none']), 'seed, tool_choice: none')
  })

  it('are sanitized, whatever clients call them', () => {
    assert.equal(
      droppedText(['seed', 'a\r\nset-cookie: b', 'größe', '\u{1f40d}', 'x,y', '']),
      'seed, a??set-cookie: b, gr??e, ??, x?y, ',
    )
  })

  it('are truncated to fit a header', () => {
    const long = droppedText(['x'.repeat(5_000), 'seed'])
    assert.equal(long, `${'x'.repeat(63)}…, seed`.replace('…', '~'))
    const many = droppedText(Array.from({ length: 10_000 }, (_, at) => `field-${at}`))
    assert.match(many, /^field-0, .*field-31 and 9968 more$/)
    assert.ok(many.length < 4_096)
  })
})
