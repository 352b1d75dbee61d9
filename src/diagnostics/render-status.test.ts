import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/fuzz/any-text.ts'
import type { Diagnostic } from './diagnostic.ts'
import { MAX_CONDITION, MAX_STATUS, renderStatus } from './render-status.ts'

const POLICY = 'ProxyPolicy default/allow-alice'
const rule = (message: string, more: Partial<Diagnostic> = {}): Diagnostic => ({
  code: 'PC0107',
  severity: 'error',
  message,
  origin: { kind: 'object', object: POLICY, field: 'spec.rules[0]' },
  ...more,
})

describe('the Kubernetes status form', () => {
  const forms: readonly (readonly [string, readonly Diagnostic[], string])[] = [
    ['nothing to say', [], ''],
    ['field and code', [rule('no')], 'spec.rules[0]: no (PC0107)'],
    ['hint', [rule('no', { hint: 'try yes' })], 'spec.rules[0]: no (PC0107; try yes)'],
    [
      'place inside the expression, in lines and code points',
      [rule('no', { excerpt: { text: "'😀' &&\n'😀' == x", start: 13, end: 15 } })],
      'spec.rules[0]:2:5: no (PC0107)',
    ],
    [
      'another object is named',
      [
        rule('no', {
          origin: { kind: 'object', object: 'Service default/a', field: 'spec.ports' },
        }),
      ],
      'Service default/a: spec.ports: no (PC0107)',
    ],
    [
      'a file is named',
      [rule('no', { origin: { kind: 'file', file: 'a.yaml', line: 2, column: 3 } })],
      'a.yaml:2:3: no (PC0107)',
    ],
    [
      'errors come first',
      [rule('hm', { severity: 'warning' }), rule('no')],
      'spec.rules[0]: no (PC0107); spec.rules[0]: hm (PC0107)',
    ],
    ['one line', [rule('a\nb\r\nc\u2028d\te')], 'spec.rules[0]: a b c d␉e (PC0107)'],
  ]
  for (const [name, diagnostics, expected] of forms) {
    it(name, () => assert.equal(renderStatus(diagnostics, { object: POLICY }), expected))
  }

  it('counts what did not fit', () => {
    const many = Array.from({ length: 500 }, (_, i) => rule(`mistake ${i}`))
    const line = renderStatus(many, { object: POLICY })
    assert.match(line, /^spec\.rules\[0\]: mistake 0 \(PC0107\); .*; and \d+ more$/)
    const shown = line.match(/mistake/g)?.length ?? 0
    assert.ok(line.endsWith(`; and ${500 - shown} more`))
    assert.ok(line.length > MAX_CONDITION - 60)
  })

  it('truncates a single message that is too long, between characters', () => {
    const line = renderStatus([rule('😀'.repeat(9_000)), rule('b')], { limit: MAX_STATUS })
    assert.match(line, /😀…; and 1 more$/u)
    assert.ok(line.isWellFormed())
  })

  it('is a single line within the limit for any diagnostics', () => {
    const diagnostic = fc
      .record({ message: fc.string({ unit: 'grapheme' }), hint: anyText() })
      .map(({ message, hint }) => rule(message, { hint }))
    fc.assert(
      fc.property(
        fc.array(diagnostic, { maxLength: 40 }),
        fc.integer({ min: 64 }),
        (list, limit) => {
          const line = renderStatus(list, { limit })
          assert.ok(Buffer.byteLength(line) <= limit)
          assert.doesNotMatch(line, /[\n\r]/)
        },
      ),
    )
  })
})
