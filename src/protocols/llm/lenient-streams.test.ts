import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DialectName } from './dialect.ts'
import { translatorFor } from './translate.ts'

/* Streams of compatible providers that omit events of the vendor, or put more into one. */

const REQUEST = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }

function streamed(provider: DialectName, events: readonly object[]) {
  const bytes = Buffer.from(JSON.stringify(REQUEST))
  const options = { model: undefined, maker: 'p' }
  const read = translatorFor('completions', provider)?.translate(bytes, options)
  assert.ok(read?.ok)
  const stream = read.value.openStream()
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const text = Buffer.concat([stream.push(Buffer.from(body)), stream.end()]).toString()
  const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
  const deltas = chunks.flatMap(({ choices = [] }) => choices.map((one: Choice) => one.delta))
  return { deltas, usage: stream.usage, error: stream.error }
}

interface Choice {
  readonly delta: {
    readonly content?: string
    readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[]
  }
}

const textOf = (deltas: readonly Choice['delta'][]) =>
  deltas.map(({ content = '' }) => content).join('')
const argumentsOf = (deltas: readonly Choice['delta'][]) =>
  deltas.flatMap(({ tool_calls = [] }) => tool_calls.map((one) => one.function.arguments)).join('')

describe('streams of compatible providers', () => {
  const started = {
    type: 'message_start',
    message: {
      id: 'm',
      model: 'm',
      usage: { input_tokens: 3, cache_read_input_tokens: 90, output_tokens: 1 },
    },
  }
  const call = (input: object) => ({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 't', name: 'f', input },
  })
  const stopped = { type: 'content_block_stop', index: 0 }
  const ended = (usage: object) => [
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
    { type: 'message_stop' },
  ]
  const piece = (partial_json: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json },
  })

  it('messages: arguments of a call that arrive with its start', () => {
    const last = ended({ output_tokens: 5 })
    const whole = streamed('messages', [started, call({ a: [1] }), stopped, ...last])
    assert.equal(argumentsOf(whole.deltas), '{"a":[1]}')
    const pieces = streamed('messages', [
      ...[started, call({}), piece('{"a"'), piece(':1}'), stopped],
      ...last,
    ])
    assert.equal(argumentsOf(pieces.deltas), '{"a":1}')
    const none = streamed('messages', [started, call({}), stopped, ...last])
    assert.equal(argumentsOf(none.deltas), '{}')
  })

  it('messages: a last usage without cache tokens', () => {
    const { usage } = streamed('messages', [
      started,
      ...ended({ input_tokens: 3, output_tokens: 5 }),
    ])
    const { input, cacheRead, output, total } = usage ?? {}
    assert.deepEqual(
      { input, cacheRead, output, total },
      {
        ...{ input: 93, cacheRead: 90, output: 5, total: 98 },
      },
    )
  })

  it('responses: text without the event that announces it', () => {
    const created = { type: 'response.created', response: { id: 'r', model: 'm' } }
    const delta = (text: string) => ({
      ...{ type: 'response.output_text.delta', output_index: 0, content_index: 0 },
      delta: text,
    })
    const completed = { type: 'response.completed', response: { status: 'completed', usage: {} } }
    const { deltas, error } = streamed('responses', [created, delta('he'), delta('llo'), completed])
    assert.equal(error, undefined)
    assert.equal(textOf(deltas), 'hello')
  })
})
