import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { DialectName } from './dialect.ts'
import {
  COMPLETIONS_REQUEST,
  GEMINI_REQUEST,
  MESSAGES_REQUEST,
  RESPONSES_REQUEST,
} from './testdata/client-requests.ts'
import { EVENTS, frame, streamOf } from './testdata/streamed-responses.ts'
import { WHOLE } from './testdata/whole-responses.ts'
import { translatorFor } from './translate.ts'
import type { TranslatedCall } from './translator.ts'

const CLIENTS: readonly (readonly [DialectName, object])[] = [
  ['completions', COMPLETIONS_REQUEST],
  ['responses', RESPONSES_REQUEST],
  ['messages', MESSAGES_REQUEST],
  ['gemini', GEMINI_REQUEST],
]
const PROVIDERS: readonly DialectName[] = [
  'completions',
  'responses',
  'messages',
  'gemini',
  'converse',
]
const MODELS: Readonly<Record<string, string>> = {
  completions: 'gpt-x',
  responses: 'gpt-x',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-2.5-flash',
  converse: 'eu.anthropic.claude-sonnet-4-5-v1:0',
}

const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
/** IDs that the gateway generates if the provider sends none. */
const mask = (text: string): string => text.replace(/[0-9a-f]{32}/g, 'RANDOM')

function call(client: DialectName, provider: DialectName, body: object): TranslatedCall {
  const model = MODELS[provider]
  const translator = translatorFor(client, provider)
  const call = translator?.translate(encode(body), { model, maker: provider, now: 1_700_000_000 })
  assert.ok(call?.ok, JSON.stringify(call))
  return call.value
}

function pump(call: TranslatedCall, bytes: Uint8Array, sizes: readonly number[] = []): string {
  const stream = call.openStream()
  const out: Uint8Array[] = []
  let at = 0
  for (const size of sizes) {
    // The buffer is reused: retained data must be a copy.
    const lent = Buffer.from(bytes.subarray(at, at + size))
    out.push(Buffer.from(stream.push(lent)))
    lent.fill(0)
    at += size
  }
  if (at < bytes.length) out.push(Buffer.from(stream.push(bytes.slice(at))))
  out.push(Buffer.from(stream.end()))
  return mask(decode(Buffer.concat(out)))
}

for (const [client, body] of CLIENTS) {
  for (const provider of PROVIDERS.filter((name) => name !== client)) {
    describe(`${client} → ${provider}`, () => {
      it('matches the golden file', () => {
        const whole = call(client, provider, body)
        const response = whole.response(encode(WHOLE[provider]))
        assert.ok(response.ok)
        const streamed = call(client, provider, { ...body, stream: true })
        const stream = streamed.openStream()
        const text = mask(decode(Buffer.concat([stream.push(streamOf(provider)), stream.end()])))
        const { path, headers, body: sent, dropped } = whole.request
        const found = {
          request: { path, headers, body: JSON.parse(decode(sent)), dropped },
          response: {
            body: JSON.parse(mask(decode(response.value.body))),
            dropped: response.value.dropped,
            usage: response.value.usage,
          },
          stream: {
            path: streamed.request.path,
            events: text.split('\n\n').filter((event) => event !== ''),
            usage: stream.usage,
            dropped: stream.dropped,
          },
        }
        assert.equal(stream.isComplete, true)
        assert.equal(stream.error, undefined)
        const file = join(import.meta.dirname, `testdata/golden/${client}-${provider}.json`)
        if (process.env['UPDATE_GOLDEN'] !== undefined || !existsSync(file)) {
          writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`)
        }
        assert.deepEqual(found, JSON.parse(readFileSync(file, 'utf8')))
      })

      it('yields the same stream wherever its bytes are split', () => {
        const streamed = call(client, provider, { ...body, stream: true })
        const bytes = streamOf(provider, EVENTS[provider], provider === 'converse' ? '' : '\r\n')
        // Comments and pings keep the connection alive; their number depends on the packets.
        const plain = (text: string): string =>
          text.replace(/: ping\n\n|event: ping\ndata: [^\n]*\n\n/g, '')
        const whole = plain(pump(streamed, bytes))
        assert.equal(plain(pump(streamed, bytes, bytesOf(bytes.length))), whole)
        fc.assert(
          fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 40 }), (sizes) => {
            assert.equal(plain(pump(streamed, bytes, sizes)), whole)
          }),
          { numRuns: 15 },
        )
      })

      it('never completes a stream that the provider cut off', () => {
        const events = EVENTS[provider] ?? []
        const ends = /\[DONE\]|message_stop|response\.(completed|incomplete)|"finishReason"/
        // A provider that has sent the finish reason may omit its last event.
        const last = { completions: 3, gemini: 1, converse: 2 }[provider as string] ?? 1
        for (let kept = 0; kept <= events.length - last; kept++) {
          const streamed = call(client, provider, { ...body, stream: true })
          const text = pump(streamed, streamOf(provider, events.slice(0, kept)))
          assert.doesNotMatch(text, ends, `${kept} events`)
          assert.match(text, /"error"/, `${kept} events`)
        }
      })

      it('translates an error inside the stream, and nothing after it', () => {
        const streamed = call(client, provider, { ...body, stream: true })
        const events = EVENTS[provider] ?? []
        const bytes = Buffer.concat([
          streamOf(provider, events.slice(0, 4)),
          ERRORS[provider] ?? Buffer.alloc(0),
          streamOf(provider, events.slice(4)),
        ])
        const stream = streamed.openStream()
        const text = decode(Buffer.concat([stream.push(bytes), stream.end()]))
        assert.equal(stream.error?.message, 'too much')
        assert.equal(stream.isComplete, false)
        assert.match(text, /too much[^\n]*\n\n$/)
        assert.doesNotMatch(text, /\[DONE\]|message_stop|response\.completed/)
      })
    })
  }
}

const line = (data: unknown, event?: string): Uint8Array =>
  Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)

const ERRORS: Readonly<Record<string, Uint8Array>> = {
  completions: line({
    error: { message: 'too much', type: 'server_error', code: 'rate_limit_exceeded' },
  }),
  responses: line({ type: 'error', code: 'rate_limit_exceeded', message: 'too much' }, 'error'),
  messages: line(
    { type: 'error', error: { type: 'overloaded_error', message: 'too much' } },
    'error',
  ),
  gemini: line({ error: { code: 503, message: 'too much', status: 'UNAVAILABLE' } }),
  converse: frame('throttlingException', { message: 'too much' }, 'exception'),
}

function bytesOf(length: number): readonly number[] {
  return Array.from({ length }, () => 1)
}
