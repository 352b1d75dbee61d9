import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { DialectName } from './dialect.ts'
import { EVENTS, frame, streamOf } from './testdata/streamed-responses.ts'
import { WHOLE } from './testdata/whole-responses.ts'
import { translatorFor } from './translate.ts'
import type { TranslatedCall } from './translator.ts'

const ALL: readonly DialectName[] = ['completions', 'responses', 'messages', 'gemini', 'converse']

function call(dialect: DialectName, body: string, stream = false): TranslatedCall {
  const endpoint = {
    dialect,
    operation: 'generate' as const,
    ...(NAMES_IN_PATH.has(dialect) && { model: 'm', stream }),
  }
  const options = { maker: 'x', endpoint }
  const found = translatorFor(dialect, dialect)?.translate(Buffer.from(body), options)
  assert.ok(found?.ok)
  return found.value
}

const NAMES_IN_PATH = new Set(['gemini', 'converse'])
const EXPECTED = { input: 100, output: 50, total: 150, cacheRead: 40 }

function summary(usage: TranslatedCall | unknown): unknown {
  const { input, output, total, cacheRead } = usage as typeof EXPECTED
  return { input, output, total, cacheRead }
}

for (const dialect of ALL) {
  describe(`${dialect} at both ends`, () => {
    it('forwards a request unchanged', () => {
      const body = '{ "model":"m","x_unknown": {"a":1.0},"n":1e2, "big":12345678901234567890 }'
      assert.equal(Buffer.from(call(dialect, body).request.body).toString(), body)
    })

    it('forwards a response unchanged, and counts it', () => {
      const bytes = Buffer.from(JSON.stringify(WHOLE[dialect]))
      const read = call(dialect, '{"model":"m"}').response(bytes)
      assert.ok(read.ok)
      assert.equal(read.value.body, bytes)
      assert.deepEqual(summary(read.value.usage), EXPECTED)
    })

    it('forwards a response that it cannot read', () => {
      const bytes = Buffer.from('<html>')
      const read = call(dialect, '{"model":"m"}').response(bytes)
      assert.ok(read.ok)
      assert.equal(read.value.body, bytes)
      assert.equal(read.value.usage, undefined)
    })

    it('forwards each piece of a stream at once, and counts it, wherever it is split', () => {
      const bytes = streamOf(dialect)
      const options = '{"model":"m","stream":true,"stream_options":{"include_usage":true}}'
      for (const size of [1, 7, 1000, bytes.length]) {
        const stream = call(dialect, options, true).openStream()
        for (let at = 0; at < bytes.length; at += size) {
          const piece = bytes.subarray(at, at + size)
          assert.equal(stream.push(piece), piece)
        }
        assert.equal(stream.end().length, 0)
        assert.deepEqual(summary(stream.usage), EXPECTED)
        assert.equal(stream.isComplete, true)
        assert.equal(stream.hasOutput, true)
        assert.equal(stream.error, undefined)
      }
    })

    it('detects a truncated stream', () => {
      const bytes = streamOf(dialect)
      const stream = call(dialect, '{"model":"m","stream":true}', true).openStream()
      stream.push(bytes.subarray(0, bytes.length >> 1))
      stream.end()
      assert.equal(stream.isComplete, false)
      assert.ok(stream.error !== undefined)
    })
  })
}

describe('usage that the client did not request', () => {
  const asked = call('completions', '{"model":"m","stream":true}')

  it('is requested in addition to the options of the client', () => {
    assert.equal(
      Buffer.from(asked.request.body).toString(),
      '{"stream_options":{"include_usage":true},"model":"m","stream":true}',
    )
    const body = '{"model":"m","stream":true,"stream_options":{"include_obfuscation":false}}'
    assert.equal(
      Buffer.from(call('completions', body).request.body).toString(),
      body.replace('false', 'false,"include_usage":true'),
    )
  })

  for (const lineEnd of ['\n', '\r\n', '\r']) {
    it(`is taken out, and nothing else, with ${JSON.stringify(lineEnd)}`, () => {
      const bytes = streamOf('completions', undefined, lineEnd)
      const text = Buffer.from(bytes).toString()
      const end = `${lineEnd}${lineEnd}`
      const expected = text
        .split(end)
        .filter((event) => !event.includes('"choices":[]'))
        .join(end)
      assert.notEqual(expected, text)
      fc.assert(
        fc.property(fc.array(fc.nat(300), { maxLength: 60 }), (sizes) => {
          const stream = asked.openStream()
          const out: Buffer[] = []
          let at = 0
          for (const size of [...sizes, bytes.length]) {
            // The buffer is reused: retained data must be a copy.
            const lent = Buffer.from(bytes.subarray(at, at + size))
            out.push(Buffer.from(stream.push(lent)))
            lent.fill(0)
            at += size
          }
          out.push(Buffer.from(stream.end()))
          assert.equal(Buffer.concat(out).toString(), expected)
          assert.deepEqual(summary(stream.usage), EXPECTED)
        }),
        { numRuns: 50 },
      )
    })
  }

  it('forwards a long event in pieces, and finds the usage after it', () => {
    const stream = asked.openStream()
    const long = `data: {"x":"${'y'.repeat(5_000_000)}"}\n\n`
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n'
    const bytes = Buffer.from(long)
    const before = process.cpuUsage().user
    let passed = 0
    for (let at = 0; at < bytes.length; at += 1000) {
      passed += stream.push(bytes.subarray(at, at + 1000)).length
    }
    assert.equal(passed, bytes.length)
    assert.ok(process.cpuUsage().user - before < 5_000_000)
    assert.equal(stream.push(Buffer.from(usage)).length, 0)
  })

  it('is not confused with another event without choices', () => {
    const event = 'data: {"choices":[],"prompt_filter_results":[{"usage":1}]}\n\n'
    const stream = asked.openStream()
    assert.equal(Buffer.from(stream.push(Buffer.from(event))).toString(), event)
  })
})

describe('gemini as a JSON list', () => {
  it('is counted like an event stream', () => {
    const list = (EVENTS['gemini'] ?? []).map(([, data]) => data)
    const bytes = Buffer.from(JSON.stringify(list, null, 1))
    for (const size of [1, 50, bytes.length]) {
      const stream = call('gemini', '{}', true).openStream()
      for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size))
      stream.end()
      assert.deepEqual(summary(stream.usage), EXPECTED)
      assert.equal(stream.isComplete, true)
    }
  })

  it('is counted as a response too: its content type is JSON', () => {
    const list = (EVENTS['gemini'] ?? []).map(([, data]) => data)
    for (const space of [undefined, 1]) {
      const read = call('gemini', '{}', true).response(
        Buffer.from(JSON.stringify(list, null, space)),
      )
      assert.ok(read.ok)
      assert.deepEqual(summary(read.value.usage), EXPECTED)
      assert.notEqual(read.value.model, undefined)
    }
  })
})

describe('the end of a stream by the gateway', () => {
  for (const dialect of ALL) {
    it(`${dialect}: an error of its own, after what was begun`, () => {
      const stream = call(dialect, '{"model":"m","stream":true}', true).openStream()
      stream.push(streamOf(dialect).subarray(0, 90))
      const text = Buffer.from(
        stream.abort({ status: 504, type: 'timeout', message: 'too slow' }),
      ).toString()
      assert.match(text, /too slow/)
      if (dialect !== 'converse') assert.match(text, /\n\n(event: error\n)?data: [^\n]*\n\n$/)
    })
  }

  it('converse: an exception in the AWS codec', () => {
    const reader = call('converse', '{}', true).openStream()
    reader.push(frame('throttlingException', { message: 'x' }, 'exception'))
    assert.equal(reader.error?.type, 'rateLimit')
  })
})

/*
 * Whole events are scanned but not parsed if they contain nothing of interest. Bytes that arrive
 * one by one are always parsed: whatever the events are, the results must be the same.
 */
describe('unread events', () => {
  const content = fc.constantFrom(
    'a',
    'Grüße',
    '"usage":{"x":1}',
    '[DONE]',
    'error',
    'message_stop',
  )
  const spaced = (text: string) => fc.constantFrom(text, text.replace(':', ' : '))
  const chunk = (delta: string, more: string) =>
    `{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":${delta}}}]${more}}`
  const completion = fc.oneof(
    content.map((text) => chunk(JSON.stringify(text), '')),
    content.map((text) => chunk(JSON.stringify(text), ',"usage":null,"error":null')),
    spaced('"usage":null').map((none) => chunk('""', `,${none}`)),
    spaced('"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}').map(
      (usage) => `{"id":"c","choices":[],${usage}}`,
    ),
    fc.constant(chunk('"x"', ',"usage":{"prompt_tokens":1,"completion_tokens":1}')),
    fc.constant('{"error":{"message":"no","type":"server_error"}}'),
    fc.constant(
      '{"id":"c","choices":[],"usage"\ndata: :{"prompt_tokens":9,"completion_tokens":9}}',
    ),
    fc.constant('[DONE]'),
    fc.constant('not JSON'),
  )
  const message = fc.oneof(
    content.map((text) => {
      const delta = { type: 'text_delta', text }
      return ['content_block_delta', { index: 0, delta }] as const
    }),
    fc.constant(['message_delta', { delta: {}, usage: { output_tokens: 5 } }] as const),
    fc.constant(['message_start', { message: { id: 'm', model: 'n', usage: {} } }] as const),
    fc.constant(['message_stop', {}] as const),
    fc.constant(['error', { error: { type: 'api_error', message: 'no' } }] as const),
    fc.constant(['ping', {}] as const),
    fc.constant(['unknown_event', { x: 'message_delta' }] as const),
  )
  const ends = fc.constantFrom('\n\n', '\r\n\r\n')
  const data = (text: string, end: string) => `data: ${text}${end}`
  const events = {
    completions: fc.array(
      fc.oneof(
        fc.tuple(completion, ends).map(([text, end]) => data(text, end)),
        fc.constantFrom(': ping\n\n', 'event: x\n', 'id: 1\n\n'),
      ),
      { maxLength: 30 },
    ),
    messages: fc.array(
      fc.oneof(
        fc
          .tuple(message, ends, fc.boolean())
          .map(([[type, rest], end, isNamed]) =>
            [isNamed ? `event: ${type}\n` : '', data(JSON.stringify({ type, ...rest }), end)].join(
              '',
            ),
          ),
        fc.constantFrom(': ping\n\n', '\n', '\r', '\r\r'),
      ),
      { maxLength: 30 },
    ),
  }

  for (const dialect of ['completions', 'messages'] as const) {
    it(`${dialect}: nothing is missed, and the client gets the same`, () => {
      const asked = call(dialect, '{"model":"m","stream":true}')
      const first = dialect === 'completions' ? data(chunk('"x"', ''), '\n\n') : ''
      const served = (pieces: readonly Buffer[]) => {
        const stream = asked.openStream()
        const out = pieces.map((piece) => {
          const lent = Buffer.from(piece)
          const passed = Buffer.from(stream.push(lent))
          lent.fill(0)
          return passed
        })
        out.push(Buffer.from(stream.end()))
        const { id, model, usage, error, hasOutput, isComplete } = stream
        const text = Buffer.concat(out).toString()
        return { text, id, model, usage, error, hasOutput, isComplete }
      }
      fc.assert(
        fc.property(events[dialect], fc.array(fc.integer({ min: 1, max: 3 })), (all, groups) => {
          const written = [first, ...all]
          const pieces: Buffer[] = []
          // Several events in each piece.
          for (let at = 0, turn = 0; at < written.length; turn++) {
            const count = groups[turn] ?? 1
            pieces.push(Buffer.from(written.slice(at, at + count).join('')))
            at += count
          }
          const bytes = Buffer.concat(pieces)
          const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
          assert.deepEqual(served(pieces), served(single))
        }),
        { numRuns: 1_000 },
      )
    })
  }
})
