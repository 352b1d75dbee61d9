import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../../test/fuzz/runs.ts'
import { runToCompletion } from '../../../model/steps.ts'
import type { StreamEvent } from '../neutral.ts'
import { guardMessages, guardMessagesNow } from './guard-messages.ts'
import { type GuardCheck, type GuardRule, patternRecognizer } from './guard-rule.ts'
import { guardPartsLater, HeldReader } from './held-response.ts'
import { maskBorders } from './joined-texts.ts'
import { maskText } from './masker.ts'
import { RECOGNIZERS, searchEffort } from './recognizers.ts'
import { EventGuard } from './response-guard.ts'

/* Matches that begin in one part of a message and end in another. */

const RULE: GuardRule = { recognizers: RECOGNIZERS, rejection: undefined }
const SECRET: GuardRule = {
  recognizers: [patternRecognizer('pro(ject|gram) +[a-z]{4}[0-9]?', 'SECRET')],
  rejection: undefined,
}
const REJECTION = { status: 403, type: 'invalidRequest', message: 'no' } as const

const guarded = (texts: readonly string[], ...rules: readonly GuardRule[]) =>
  guardMessagesNow(
    texts.map((content) => ({ role: 'user', content, message: 1 })),
    rules,
  )

describe('parts of one message', () => {
  for (const [parts, expected] of [
    [
      ['card 4111 1111 ', '1111 1111, ok'],
      ['card <CREDIT_CARD>', ', ok'],
    ],
    [
      ['ssn 123-', '', '45', '-6789 and', ' more'],
      ['ssn <SSN>', '', '', ' and', ' more'],
    ],
    [[...'ann@example.com'], ['<EMAIL_ADDRESS>', ...Array(14).fill('')]],
    // Each is also searched separately, and first.
    [
      ['call 12', '123-45-6789'],
      ['call 12', '<SSN>'],
    ],
    [
      ['ann@example.com', 'Summarize it'],
      ['<EMAIL_ADDRESS>', 'Summarize it'],
    ],
    [
      ['nothing', ' here'],
      ['nothing', ' here'],
    ],
    [
      ['', ''],
      ['', ''],
    ],
    [
      [`${'x '.repeat(9_000)}ann@`, `example.com${' x'.repeat(9_000)}`],
      [`${'x '.repeat(9_000)}<EMAIL_ADDRESS>`, ' x'.repeat(9_000)],
    ],
  ] as const) {
    it(`are searched as one text: ${parts.join('|').slice(0, 60)}`, async () => {
      assert.deepEqual(guarded(parts, RULE), expected)
      const messages = parts.map((content) => ({ role: 'user', content, message: 1 }))
      assert.deepEqual(await guardMessages(messages, [RULE]), expected)
    })
  }

  it('are rejected for a match across two of them', () => {
    assert.deepEqual(
      guarded(['of pro', 'ject zeus'], { ...SECRET, rejection: REJECTION }),
      REJECTION,
    )
  })

  it('of different messages are searched separately', () => {
    const messages = ['ann@', 'example.com'].map((content, message) => ({
      role: 'user',
      content,
      message,
    }))
    assert.deepEqual(guardMessagesNow(messages, [RULE]), ['ann@', 'example.com'])
    const unnumbered = ['ann@', 'example.com'].map((content) => ({ role: 'user', content }))
    assert.deepEqual(guardMessagesNow(unnumbered, [RULE]), ['ann@', 'example.com'])
  })

  it('reveal nothing that the whole text would not, wherever it is split', () => {
    const words = fc.constantFrom(
      'pro',
      'ject',
      'gram',
      ' ',
      'zeus',
      '7',
      ', ',
      'a',
      'project zeus',
      'ann@',
      'example',
      '.com',
      '4111',
      '1111',
      '-',
    )
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), (parts) => {
        const rules = [SECRET, RULE]
        const texts = guarded(parts, ...rules)
        assert.ok(!('status' in texts))
        assert.equal(texts.length, parts.length)
        const left = texts.join('')
        for (const { recognizers } of rules) assert.equal(maskText(left, recognizers).text, left)
      }),
    )
  })
})

/** A code that cannot overlap another one, nor be taken for a part of one. */
const CODE = /a[0-9]{2,40}b/g
const CODES = patternRecognizer('a[0-9]{2,40}b', 'CODE')
const MASK = '<CODE>'

/** Masks codes across borders as the whole text shows them, character by character. */
function expectedParts(texts: readonly string[]) {
  const joined = texts.join('')
  const borders = texts.map((_, at) => texts.slice(0, at + 1).join('').length)
  const partOf = [...texts.entries()].flatMap(([part, text]) => [...text].map(() => part))
  const parts: string[] = texts.map(() => '')
  const append = (part: number, text: string) => {
    parts[part] = `${parts[part]}${text}`
  }
  let at = 0
  let isFound = false
  const copy = (end: number) => {
    for (; at < end; at++) append(partOf[at] as number, joined[at] as string)
  }
  for (const { index, 0: code } of joined.matchAll(CODE)) {
    const end = index + code.length
    if (!borders.some((border) => border > index && border < end)) continue
    isFound = true
    copy(index)
    append(partOf[index] as number, MASK)
    at = end
  }
  copy(joined.length)
  return { texts: parts, isFound }
}

describe('matches across borders', () => {
  const long = fc
    .constantFrom(255, 256, 257, 260, 261, 262, 600)
    .map((length) => 'x'.repeat(length))
  const pieces = fc.constantFrom(
    'a',
    'b',
    '1',
    '12',
    '345',
    'a1',
    '9b',
    'a12b',
    'a123',
    '45b',
    'x',
    '',
  )
  const parts = fc.array(
    fc
      .array(fc.oneof({ weight: 9, arbitrary: pieces }, long), { maxLength: 6 })
      .map((all) => all.join('')),
    { maxLength: 12 },
  )

  it('are masked in the part in which they begin, and no other text changes', () => {
    for (const rejection of [undefined, REJECTION]) {
      fc.assert(
        fc.property(parts, (texts) => {
          const check = { policy: 'p', phase: 'request', outcome: undefined } as GuardCheck
          const rule = { recognizers: [CODES], rejection, check }
          const masked = runToCompletion(maskBorders(texts, rule, searchEffort()))
          const expected = expectedParts(texts)
          assert.deepEqual(masked, expected)
          const found = rejection === undefined ? 'masked' : 'rejected'
          assert.equal(check.outcome, expected.isFound ? found : undefined)
        }),
        fuzz(2),
      )
    }
  })

  it('are found wherever the borders are', () => {
    const text = 'xa12345bx'
    for (let border = 0; border <= text.length; border++) {
      const texts = [text.slice(0, border), text.slice(border)]
      const rule = { recognizers: [CODES], rejection: undefined }
      const isAcross = border > 1 && border < text.length - 1
      assert.deepEqual(runToCompletion(maskBorders(texts, rule, searchEffort())), {
        texts: isAcross ? ['x<CODE>', 'x'] : texts,
        isFound: isAcross,
      })
    }
  })
})

describe('parts of a response', () => {
  it('are searched as one text if they are of the same kind', async () => {
    const parts = [
      { kind: 'text', text: 'write to ann@' },
      { kind: 'reasoning', text: 'ben@', signature: undefined, isRedacted: false },
      { kind: 'text', text: 'example.com now' },
    ] as const
    const result = await guardPartsLater(parts as never, [RULE])
    assert.ok(!('status' in result))
    assert.deepEqual(
      result.map((part) => (part as { readonly text: string }).text),
      ['write to <EMAIL_ADDRESS>', 'ben@', ' now'],
    )
  })

  it('are searched so in a held stream as well', async () => {
    const events = stream(['write to ann@', 'example.com now'])
    const reader = { push: () => events, end: () => [], dropped: [] }
    const held = new HeldReader(reader as never, [RULE])
    held.push(new Uint8Array())
    assert.deepEqual(textsOf(await held.settle()), { 0: 'write to <EMAIL_ADDRESS>', 1: ' now' })
  })
})

type Kind = 'text' | 'reasoning' | 'toolCall'

const begin = (block: number, kind: Kind = 'text') =>
  ({ kind: 'blockStart', block, part: { kind } }) as StreamEvent
const delta = (block: number, text: string): StreamEvent => ({ kind: 'delta', block, text })
const end = (block: number): StreamEvent => ({ kind: 'blockEnd', block })

function stream(parts: readonly (string | readonly string[])[]): readonly StreamEvent[] {
  const blocks = parts.flatMap((part, block) => [
    begin(block),
    ...[part].flat().map((text) => delta(block, text)),
    end(block),
  ])
  return [...blocks, { kind: 'finish', reason: 'stop' } as StreamEvent, { kind: 'end' }]
}

function textsOf(events: readonly StreamEvent[]): Readonly<Record<number, string>> {
  const texts: Record<number, string> = {}
  for (const event of events) {
    if (event.kind === 'blockStart') texts[event.block] = ''
    if (event.kind === 'delta') texts[event.block] += event.text
  }
  return texts
}

/** Asserts that blocks begin once, in order, and that no event is outside its block. */
function assertInOrder(events: readonly StreamEvent[]): void {
  const open = new Set<number>()
  let last = -1
  for (const event of events) {
    if (event.kind === 'blockStart') {
      assert.ok(event.block > last)
      last = event.block
      open.add(event.block)
    } else if (event.kind === 'delta') assert.ok(open.has(event.block), JSON.stringify(events))
    else if (event.kind === 'blockEnd') assert.ok(open.delete(event.block))
    else if (event.kind === 'finish') assert.equal(open.size, 0)
  }
}

describe('blocks of a stream', () => {
  const run = (events: readonly StreamEvent[], ...rules: readonly GuardRule[]) => {
    const guard = new EventGuard(rules)
    const out = events.flatMap((event) => guard.filter([event]))
    assertInOrder(out)
    return out
  }

  it('are searched as the parts of a whole response', () => {
    const pieces = fc.array(
      fc.array(
        fc.constantFrom(
          'pro',
          'ject',
          'gram',
          ' ',
          'zeus',
          '7',
          ', ',
          'a',
          'project zeus',
          'ann@',
          'example',
          '.com',
          'x'.repeat(300),
        ),
        { minLength: 1, maxLength: 5 },
      ),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(pieces, (parts) => {
        for (const rules of [[RULE], [SECRET], [RULE, SECRET], [SECRET, RULE]]) {
          const out = run(stream(parts), ...rules)
          const expected = guarded(
            parts.map((part) => part.join('')),
            ...rules,
          )
          assert.deepEqual(Object.values(textsOf(out)), expected)
        }
      }),
    )
  })

  it('are not held within a block, nor at its end if no match can continue', () => {
    const guard = new EventGuard([RULE])
    guard.filter([begin(0), delta(0, 'hello, wor')])
    assert.deepEqual(guard.filter([delta(0, 'ld ')]).length, 1)
    assert.deepEqual(guard.filter([delta(0, 'end!'), end(0)]), [delta(0, 'end!'), end(0)])
  })

  it('are held at most until a block of another kind', () => {
    const guard = new EventGuard([RULE])
    const first = guard.filter([begin(0), delta(0, 'to ann@'), end(0)])
    assert.deepEqual(textsOf(first), { 0: 'to ' })
    const next = guard.filter([begin(1, 'toolCall')])
    assert.deepEqual(next, [delta(0, 'ann@'), end(0), begin(1, 'toolCall')])
  })

  it('with others between them are masked from the point where the match is known', () => {
    for (const kind of ['reasoning', 'toolCall'] as const) {
      const between = [begin(1, kind), delta(1, 'hm'), end(1)]
      const events = [begin(0), delta(0, 'to ann@'), end(0), ...between]
      const rest = [
        begin(2),
        delta(2, 'exam'),
        delta(2, 'ple.com now'),
        end(2),
        { kind: 'end' } as const,
      ]
      const out = run([...events, ...rest], RULE)
      assert.deepEqual(textsOf(out), { 0: 'to ann@', 1: 'hm', 2: '<EMAIL_ADDRESS> now' })
      const rejected = run([...events, ...rest], { ...RULE, rejection: REJECTION })
      assert.deepEqual(rejected.at(-1), { kind: 'error', error: REJECTION })
      assert.doesNotMatch(JSON.stringify(textsOf(rejected)), /exam/)
    }
  })

  it('are rejected before any part of a match is released', () => {
    const out = run(stream(['of pro', 'ject ze', 'us']), { ...SECRET, rejection: REJECTION })
    assert.deepEqual(out.at(-1), { kind: 'error', error: REJECTION })
    assert.deepEqual(textsOf(out), { 0: '' })
  })

  it('that are interleaved are searched separately', () => {
    const events = [
      begin(0),
      begin(1),
      delta(0, 'ann@'),
      delta(1, 'x, '),
      delta(0, 'example.com '),
      delta(1, 'y'),
      end(0),
      end(1),
      { kind: 'end' } as const,
    ]
    assert.deepEqual(textsOf(run(events, RULE)), { 0: '<EMAIL_ADDRESS> ', 1: 'x, y' })
  })

  it('lose the signature of changed blocks only', () => {
    const signed = (block: number) =>
      ({
        kind: 'signature',
        block,
        signature: { value: 's', maker: 'p' },
      }) as unknown as StreamEvent
    const events = [
      begin(0, 'reasoning'),
      delta(0, 'of ann@example.com '),
      signed(0),
      end(0),
      begin(1, 'reasoning'),
      delta(1, 'ok'),
      signed(1),
      end(1),
      { kind: 'end' } as const,
    ]
    const out = run(events, RULE)
    assert.deepEqual(
      out.filter(({ kind }) => kind === 'signature'),
      [signed(1)],
    )
  })
})
