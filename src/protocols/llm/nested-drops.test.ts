import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DialectName } from './dialect.ts'
import { translatorFor } from './translate.ts'

const HI = [{ role: 'user', content: 'hi' }]
const chat = (fields: object) => ({ model: 'm', messages: HI, ...fields })
const message = (fields: object) => ({ ...chat(fields), max_tokens: 99 })
const response = (fields: object) => ({ model: 'm', input: 'hi', ...fields })
const PNG = 'data:image/png;base64,AAAA'
const CACHE = { cache_control: { type: 'ephemeral' } }

function droppedBy(client: DialectName, provider: DialectName, body: object) {
  const bytes = Buffer.from(JSON.stringify(body))
  const read = translatorFor(client, provider)?.translate(bytes, { model: undefined, maker: 'p' })
  assert.ok(read?.ok, JSON.stringify(read))
  const sent = JSON.parse(Buffer.from(read.value.request.body).toString()) as object
  return { dropped: read.value.request.dropped, sent }
}

describe('fields dropped inside messages and tools', () => {
  const cases: readonly (readonly [
    client: DialectName,
    provider: DialectName,
    body: object,
    dropped: string,
  ])[] = [
    ['completions', 'messages', chat({ messages: [{ ...HI[0], name: 'bob' }] }), 'messages.name'],
    [
      'completions',
      'messages',
      chat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a', ...CACHE }] }] }),
      'content.cache_control',
    ],
    [
      'completions',
      'converse',
      chat({
        messages: [{ role: 'system', content: [{ type: 'text', text: 'a', new: 1 }] }, ...HI],
      }),
      'content.new',
    ],
    [
      'completions',
      'gemini',
      chat({ tools: [{ type: 'custom', custom: { name: 'f', format: { type: 'grammar' } } }] }),
      'tools.custom.format',
    ],
    [
      'completions',
      'responses',
      chat({ tools: [{ type: 'function', function: { name: 'f', new: 1 } }] }),
      'tools.function.new',
    ],
    [
      'messages',
      'completions',
      message({ tools: [{ name: 'f', input_schema: {}, defer_loading: true }] }),
      'tools.defer_loading',
    ],
    ['messages', 'gemini', message({ metadata: { user_id: 'u', team: 'x' } }), 'metadata.team'],
    [
      'messages',
      'responses',
      message({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a', new: 1 }] }] }),
      'content.new',
    ],
    [
      'responses',
      'messages',
      response({ tools: [{ type: 'custom', name: 'f', format: { type: 'grammar' } }] }),
      'tools.format',
    ],
    [
      'responses',
      'completions',
      response({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'a', new: 1 }] }] }),
      'input.new',
    ],
  ]
  for (const [client, provider, body, dropped] of cases) {
    it(`${client} → ${provider}: ${dropped}`, () => {
      assert.deepEqual(droppedBy(client, provider, body).dropped.slice(0, 1), [dropped])
    })
  }

  it('are empty if nothing is set', () => {
    const said = { role: 'assistant', content: 'a', rejection: null, annotations: [], audio: null }
    const body = chat({ messages: [...HI, said, ...HI], tools: null })
    assert.deepEqual(droppedBy('completions', 'messages', body).dropped, [])
    const item = { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant' }
    const content = [{ type: 'output_text', text: 'a', annotations: [], logprobs: [] }]
    const input = [...HI, { ...item, content }, ...HI]
    assert.deepEqual(droppedBy('responses', 'messages', response({ input })).dropped, [])
  })

  it('include the image detail if unsupported', () => {
    for (const provider of ['messages', 'gemini', 'converse', 'responses'] as const) {
      for (const detail of ['low', 'auto']) {
        const image = { type: 'image_url', image_url: { url: PNG, detail } }
        const body = chat({ messages: [{ role: 'user', content: [image] }] })
        const isLost = detail === 'low' && provider !== 'responses'
        const expected = isLost ? ['image detail'] : []
        assert.deepEqual(droppedBy('completions', provider, body).dropped, expected, provider)
      }
    }
  })

  it('include the tool choice if no tool is left', () => {
    const tools = [{ type: 'bash_20250124', name: 'bash' }]
    const body = message({ tools, tool_choice: { type: 'any' } })
    for (const provider of ['completions', 'responses', 'gemini', 'converse'] as const) {
      const { dropped, sent } = droppedBy('messages', provider, body)
      assert.deepEqual(dropped, ['tools: bash_20250124', 'tool_choice'], provider)
      assert.ok(!/tool_?choice/i.test(JSON.stringify(sent)), provider)
    }
    const none = chat({ tool_choice: 'auto' })
    assert.deepEqual(droppedBy('completions', 'messages', none).dropped, [])
  })
})
