import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Body,
  chat,
  chunks,
  completion,
  decode,
  delta,
  encode,
  message,
  received,
  sent,
  streamed,
  toolCall,
  translated,
  user,
} from './testdata/probe.ts'

/* Typical mistakes of translators with tools; the numbering continues in traps.test.ts. */

describe('translation edge cases with tools', () => {
  it('2: tool calls without ids get unique ones, and results are matched by name and order', () => {
    const parts = ['a', 'b', 'a'].map((name) => ({ functionCall: { name, args: {} } }))
    const response = (responseId: string) => ({
      responseId,
      candidates: [{ content: { parts }, finishReason: 'STOP' }],
    })
    const ids = ['r1', 'r2', ''].flatMap((id) =>
      received('completions', 'gemini', response(id), chat()).choices[0].message.tool_calls.map(
        (call: Body) => call.id,
      ),
    )
    assert.equal(new Set(ids).size, 9)
    for (const id of ids) assert.match(id, /^[a-zA-Z0-9_-]{1,40}$/)
    const history = chat({
      messages: [
        user('hi'),
        { role: 'assistant', tool_calls: [toolCall('1', 'a', '{}'), toolCall('2', 'b', '{}')] },
        { role: 'tool', tool_call_id: '2', content: 'second' },
        { role: 'tool', tool_call_id: '1', content: 'first' },
      ],
    })
    const results = sent('completions', 'gemini', history, { model: 'gemini-2.5-pro' }).contents[2]
      .parts
    assert.deepEqual(
      results.map(({ functionResponse }: Body) => [
        functionResponse.name,
        functionResponse.response,
      ]),
      [
        ['a', { result: 'first' }],
        ['b', { result: 'second' }],
      ],
    )
  })

  it('3: all tool results of a turn are one message in one dialect and one each in the other', () => {
    const body = message({
      messages: [
        user('hi'),
        {
          role: 'assistant',
          content: ['x', 'y'].map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
        },
        user([
          { type: 'text', text: 'look' },
          { type: 'tool_result', tool_use_id: 'y', content: '2' },
          { type: 'tool_result', tool_use_id: 'x', content: '1' },
        ]),
      ],
    })
    const roles = sent('messages', 'completions', body).messages.map(({ role }: Body) => role)
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'user'])
    const back = sent('messages', 'converse', body, { model: 'amazon.nova' }).messages
    assert.deepEqual(
      back[2].content.map((block: Body) => block.toolResult?.toolUseId ?? block.text),
      ['x', 'y', 'look'],
    )
    const single = chat({
      tools: [{ type: 'function', function: { name: 'f' } }],
      parallel_tool_calls: false,
    })
    assert.deepEqual(sent('completions', 'messages', single).tool_choice, {
      type: 'auto',
      disable_parallel_tool_use: true,
    })
    const choice = { type: 'any', disable_parallel_tool_use: true }
    const tools = [{ name: 'f', input_schema: { type: 'object' } }]
    const { parallel_tool_calls, tool_choice } = sent(
      'messages',
      'completions',
      message({ tools, tool_choice: choice }),
    )
    assert.deepEqual([parallel_tool_calls, tool_choice], [false, 'required'])
  })

  it('4: empty, invalid and large arguments', () => {
    const inputs = ['', '{"a":', '[1]', '{"id":12345678901234567890}'].map((text) => {
      const response = completion({ tool_calls: [toolCall('1', 'f', text)] }, 'tool_calls')
      const read = translated('messages', 'completions', message()).response(encode(response))
      assert.ok(read.ok)
      return decode(read.value.body)
    })
    assert.match(inputs[0] ?? '', /"input":\{\}/)
    assert.match(inputs[1] ?? '', /"input":\{"invalid_arguments":"\{\\"a\\":"\}/)
    assert.match(inputs[2] ?? '', /"input":\{"invalid_arguments":"\[1\]"\}/)
    assert.match(inputs[3] ?? '', /"input":\{"id":12345678901234567890\}/)
    const history = message({
      messages: [
        user('hi'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'f', input: {} }] },
      ],
    })
    const big = JSON.stringify(history).replace(
      '"input":{}',
      '"input":{"id":12345678901234567890,"e":1e400}',
    )
    const args = sent('messages', 'completions', big).messages[1].tool_calls[0].function.arguments
    assert.equal(args, '{"id":12345678901234567890,"e":1e400}')
  })

  it('5: interleaved pieces of several calls are sent block by block', () => {
    const start = (index: number, name: string) =>
      delta({ tool_calls: [{ index, id: `c${index}`, function: { name, arguments: '' } }] })
    const piece = (index: number, text: string) =>
      delta({ tool_calls: [{ index, function: { arguments: text } }] })
    const bytes = chunks(
      start(0, 'a'),
      start(1, 'b'),
      piece(1, '{"y"'),
      piece(0, '{"x"'),
      piece(1, ':2}'),
      piece(0, ':1}'),
      delta({}, 'tool_calls'),
    )
    const text = streamed('messages', 'completions', bytes, message())
    const events = [...text.matchAll(/data: (.*)\n/g)].map(([, data]) => JSON.parse(data ?? ''))
    let open: number | undefined
    const inputs = new Map<number, string>()
    for (const event of events) {
      if (event.type === 'content_block_start') {
        assert.equal(open, undefined)
        open = event.index
      } else if (event.type === 'content_block_stop') {
        assert.equal(open, event.index)
        open = undefined
      } else if (event.type === 'content_block_delta') {
        assert.equal(open, event.index)
        inputs.set(event.index, (inputs.get(event.index) ?? '') + event.delta.partial_json)
      }
    }
    assert.deepEqual([...inputs.values()], ['{"x":1}', '{"y":2}'])
  })

  it('15: names that a provider would reject are replaced and restored', () => {
    const name = `mcp.server/${'very_long_'.repeat(8)}tool`
    const tools = [{ name, input_schema: { type: 'object' } }]
    const made = translated('messages', 'completions', message({ tools }))
    const written = JSON.parse(decode(made.request.body)).tools[0].function.name
    assert.match(written, /^[a-zA-Z0-9_-]{1,64}$/)
    const read = made.response(
      encode(completion({ tool_calls: [toolCall('1', written, '{}')] }, 'tool_calls')),
    )
    assert.ok(read.ok)
    assert.equal(JSON.parse(decode(read.value.body)).content[0].name, name)
    const stream = made.openStream()
    const call = delta({
      tool_calls: [{ index: 0, id: '1', function: { name: written, arguments: '{}' } }],
    })
    assert.ok(
      decode(stream.push(chunks(call, delta({}, 'tool_calls')))).includes(`"name":"${name}"`),
    )
  })
})
