import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { RECOGNIZERS } from './guards/recognizers.ts'
import { cutEvent, isLong } from './long-events.ts'
import { guardedTranslator } from './translate.ts'
import type { StreamTranslator, TranslateOptions } from './translator.ts'

const REQUEST = Buffer.from(
  JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] }),
)

function open(guards: TranslateOptions['guards'] = []): StreamTranslator {
  const translator = guardedTranslator('completions', 'completions')
  const call = translator?.translate(REQUEST, { maker: 'm', guards, now: 1 })
  assert.ok(call?.ok)
  return call.value.openStream()
}

const event = (content: string) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`)
const END = Buffer.from(
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
)

const textIn = (bytes: Uint8Array) =>
  [
    ...Buffer.from(bytes)
      .toString()
      .matchAll(/"content":("(?:[^"\\]|\\.)*")/g),
  ]
    .map(([, text]) => JSON.parse(text as string) as string)
    .join('')

describe('a long event of a stream', () => {
  it('is split between characters', () => {
    const text = `${'a'.repeat(4_095)}${'😀'.repeat(5_000)}`
    const pieces = [...cutEvent({ kind: 'delta', block: 0, text })].map((one) =>
      one.kind === 'delta' ? one.text : '',
    )
    assert.equal(pieces.join(''), text)
    for (const piece of pieces) assert.ok(piece.isWellFormed() && piece.length <= 4_096)
  })

  it('is processed in pieces, and a short one at once', () => {
    const stream = open([{ recognizers: RECOGNIZERS, rejection: undefined }])
    assert.ok(stream.take?.(event('hello, ')) instanceof Uint8Array)
    const made = stream.take?.(event('word and word, '.repeat(60_000)))
    assert.ok(made !== undefined && !(made instanceof Uint8Array))
    let most = 0
    for (const piece of made) most = Math.max(most, textIn(piece).length)
    assert.ok(most > 0 && most < 10_000, `${most} letters at once`)
  })

  it('is guarded as if at once', () => {
    const word = fc.constantFrom(
      'a ',
      'ann@mail.example, ',
      '4111 1111 1111 1111 ',
      '😀',
      'x',
      '\n',
    )
    const text = fc
      .array(word, { minLength: 1, maxLength: 30 })
      .map((words) => words.join('').repeat(Math.ceil(9_000 / words.join('').length)))
    fc.assert(
      fc.property(text, (own) => {
        const guards = [{ recognizers: RECOGNIZERS, rejection: undefined }]
        const [one, other] = [open(guards), open(guards)]
        const whole = textIn(Buffer.concat([one.push(event(own)), one.push(END), one.end()]))
        const made = other.take?.(event(own)) ?? new Uint8Array(0)
        const pieces = made instanceof Uint8Array ? [made] : [...made]
        assert.equal(textIn(Buffer.concat([...pieces, other.push(END), other.end()])), whole)
      }),
      { numRuns: 40 },
    )
  })

  it('is rejected in the piece with the finding, and nothing follows', () => {
    const rejection = { status: 403, type: 'permission', message: 'no' } as const
    const stream = open([{ recognizers: RECOGNIZERS, rejection }])
    const made = stream.take?.(
      event(`${'word, '.repeat(2_000)}ann@mail.example ${'word, '.repeat(9_000)}`),
    )
    assert.ok(made !== undefined && !(made instanceof Uint8Array))
    const out = Buffer.concat([...made, stream.push(END), stream.end()])
    assert.doesNotMatch(out.toString(), /ann@|\[DONE\]/)
    assert.ok(textIn(out).length < 13_000)
    assert.equal(stream.error?.message, 'no')
  })

  it('fails the stream if it has too many values or escapes to be read in time', () => {
    for (const long of [`[${'[],'.repeat(50_000)}[]]`, `{"a":"${'\\u0061'.repeat(200_000)}"}`]) {
      const stream = open()
      const bytes = Buffer.from(`data: ${long}\n\n`)
      for (let at = 0; at < bytes.length; at += 65_536) stream.push(bytes.subarray(at, at + 65_536))
      assert.match(stream.error?.message ?? '', /too long/)
    }
  })

  it('includes many short ones', () => {
    const deltas = Array.from(
      { length: 65 },
      () => ({ kind: 'delta', block: 0, text: 'a' }) as const,
    )
    assert.equal(isLong(deltas), true)
    assert.equal(isLong(deltas.slice(1)), false)
  })
})
