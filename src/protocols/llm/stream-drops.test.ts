import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DialectName } from './dialect.ts'
import { writeEventStream } from './event-stream.ts'
import { translatorFor } from './translate.ts'

const REQUEST = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }

const sse = (...events: readonly object[]) =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))

function frame(type: string, data: object): Uint8Array {
  const headers = new Map([
    [':message-type', 'event'],
    [':event-type', type],
  ])
  return writeEventStream({ headers, payload: Buffer.from(JSON.stringify(data)) })
}

function droppedBy(provider: DialectName, bytes: Uint8Array): readonly string[] {
  const client = provider === 'completions' ? 'messages' : 'completions'
  const request = Buffer.from(JSON.stringify({ ...REQUEST, max_tokens: 99 }))
  const read = translatorFor(client, provider)?.translate(request, { model: undefined, maker: 'p' })
  assert.ok(read?.ok)
  const stream = read.value.openStream()
  stream.push(bytes)
  stream.end()
  return stream.dropped
}

describe('fields of a stream dropped in translation', () => {
  it('are reported for Gemini', () => {
    const parts = [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: 'AA' } }]
    const candidate = { content: { parts }, finishReason: 'STOP', groundingMetadata: {} }
    const dropped = droppedBy('gemini', sse({ candidates: [candidate] }))
    assert.deepEqual(dropped, ['groundingMetadata', 'parts: inlineData'])
  })

  it('are reported for Anthropic', () => {
    const block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const text = {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'text', text: '' },
    }
    const citation = { type: 'citations_delta', citation: {} }
    const bytes = sse(
      { type: 'message_start', message: { id: 'm' } },
      { type: 'content_block_start', index: 0, content_block: block },
      text,
      { type: 'content_block_delta', index: 1, delta: citation },
    )
    assert.deepEqual(droppedBy('messages', bytes), ['content: server_tool_use', 'citations'])
  })

  it('are reported for responses', () => {
    const bytes = sse(
      { type: 'response.created', response: { id: 'r' } },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'web_search_call' } },
      { type: 'response.output_item.added', output_index: 1, item: { type: 'message' } },
      { type: 'response.output_text.annotation.added', output_index: 1, annotation: {} },
    )
    assert.deepEqual(droppedBy('responses', bytes), ['output: web_search_call', 'annotations'])
  })

  it('are reported for chat completions', () => {
    const delta = { content: 'a', annotations: [{}], audio: { id: 'a' } }
    const choice = { index: 0, delta, logprobs: { content: [] } }
    const bytes = sse({ id: 'c', choices: [choice] })
    assert.deepEqual(droppedBy('completions', bytes), ['annotations', 'logprobs', 'audio'])
  })

  it('are reported for Converse', () => {
    const bytes = Buffer.concat([
      frame('messageStart', { role: 'assistant' }),
      frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'a' } }),
      frame('contentBlockDelta', { contentBlockIndex: 0, delta: { citation: {} } }),
    ])
    assert.deepEqual(droppedBy('converse', bytes), ['content: citation'])
  })
})
