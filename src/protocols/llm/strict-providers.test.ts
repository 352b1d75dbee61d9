import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { DialectName } from './dialect.ts'
import { translatorFor } from './translate.ts'

/*
 * Any conversation that OpenAI accepts, written for each other provider and checked against the
 * provider's own rules: anything that it would reject fails the test. The rules know nothing of the
 * writers.
 */

// biome-ignore lint/suspicious/noExplicitAny: vendors' bodies, checked by hand
type Body = any

const text = fc.constantFrom('', ' ', 'hi', 'a\nb ', '🌍', 'END')
const name = fc.constantFrom('f', 'get_time', 'mcp.x/y', 'n'.repeat(90))
const args = fc.constantFrom('', '{}', '{"a":1}', '[', 'null', '{"n":12345678901234567890}')

const user = fc.oneof(
  text.map((content) => ({ role: 'user', content })),
  fc
    .array(
      fc.oneof(
        text.map((value) => ({ type: 'text', text: value })),
        fc.constant({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }),
        fc.constant({
          type: 'file',
          file: { filename: 'a/b.pdf', file_data: 'data:application/pdf;base64,AAAA' },
        }),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((content) => ({ role: 'user', content })),
)

/** All results of a turn with calls follow it, in any order. */
const assistant = fc
  .record({
    content: fc.option(text),
    calls: fc.array(fc.tuple(name, args), { maxLength: 3 }),
    order: fc.boolean(),
    ids: fc.constantFrom('call_', 'x.y/', 'z'.repeat(70)),
  })
  .map(({ content, calls, order, ids }) => {
    const unique = `${ids}${serial++}_`
    const tool_calls = calls.map(([called, written], at) => ({
      id: `${unique}${at}`,
      type: 'function',
      function: { name: called, arguments: written },
    }))
    const results = tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'r' }))
    const message = { role: 'assistant', content: content ?? (calls.length > 0 ? null : 'x') }
    return [
      calls.length > 0 ? { ...message, tool_calls } : message,
      ...(order ? results : results.reverse()),
    ]
  })
let serial = 0

const system = text.map((content) => ({ role: 'system', content }))
const turn: fc.Arbitrary<readonly object[]> = fc.oneof(
  user.map((it) => [it]),
  assistant,
  system.map((it) => [it]),
)

const request = fc
  .record({
    before: fc.array(system, { maxLength: 2 }),
    first: user,
    turns: fc.array(turn, { maxLength: 6 }),
    tools: fc.uniqueArray(name),
    fields: fc.record(
      {
        temperature: fc.constantFrom(0, 0.5, 1, 2),
        top_p: fc.constantFrom(0.1, 1),
        max_completion_tokens: fc.constantFrom(1, 100, 3000, 50_000),
        reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'high', 'xhigh'),
        stop: fc.constantFrom('END', [' ', 'x'], ['a', 'b', 'c', 'd']),
        tool_choice: fc.constantFrom('auto', 'none', 'required'),
        parallel_tool_calls: fc.boolean(),
        response_format: fc.constantFrom(
          { type: 'json_object' },
          { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
        ),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ before, first, turns, tools, fields }) => ({
    model: 'm',
    messages: [...before, first, ...turns.flat()],
    ...fields,
    ...(tools.length > 0 && {
      tools: tools.map((it) => ({ type: 'function', function: { name: it } })),
    }),
  }))

function check(
  provider: DialectName,
  model: string,
  rules: (body: Body, headers: Map<string, string>) => void,
) {
  fc.assert(
    fc.property(request, (body) => {
      const bytes = Buffer.from(JSON.stringify(body))
      const call = translatorFor('completions', provider)?.translate(bytes, { model, maker: 'p' })
      // The conversation is empty.
      if (call?.ok === false && call.error.param === 'messages') return
      assert.ok(call?.ok, JSON.stringify(call))
      const { body: written, headers } = call.value.request
      rules(JSON.parse(Buffer.from(written).toString()), new Map(headers))
    }),
    { numRuns: 400 },
  )
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Each call of a turn has its result at the head of the next; each result belongs to a call. */
function checkResults(
  turns: readonly Body[],
  callsOf: (turn: Body) => string[],
  resultsOf: (turn: Body) => string[],
  head: (turn: Body, count: number) => boolean,
): void {
  turns.forEach((turn, at) => {
    const calls = callsOf(turn)
    assert.equal(new Set(calls).size, calls.length)
    const next = turns[at + 1]
    if (calls.length > 0) {
      assert.ok(next !== undefined)
      assert.deepEqual(resultsOf(next).toSorted(), calls.toSorted())
      assert.ok(head(next, calls.length))
    } else if (next !== undefined) assert.deepEqual(resultsOf(next), [])
  })
}

describe('fields that providers reject', () => {
  for (const model of ['claude-sonnet-4-5', 'claude-opus-5', 'claude-3-haiku-20240307']) {
    it(`messages, ${model}`, () => {
      check('messages', model, (body, headers) => {
        assert.ok(Number.isInteger(body.max_tokens) && body.max_tokens >= 1)
        assert.ok(body.messages.length > 0)
        const isCurrent = headers.get('anthropic-version') === '2026-10-21'
        if (isCurrent)
          for (const field of ['temperature', 'top_p', 'top_k']) assert.ok(!(field in body))
        assert.ok(!('temperature' in body && 'top_p' in body))
        if (body.temperature !== undefined) assert.ok(body.temperature <= 1)
        if (body.thinking?.type === 'enabled') {
          assert.ok(
            body.thinking.budget_tokens >= 1024 && body.thinking.budget_tokens < body.max_tokens,
          )
          assert.ok(!['any', 'tool'].includes(body.tool_choice?.type))
        }
        if (body.tool_choice !== undefined) assert.ok(body.tools.length > 0)
        for (const tool of body.tools ?? []) {
          assert.match(tool.name, /^[a-zA-Z0-9_-]{1,128}$/)
          assert.equal(tool.input_schema.type, 'object')
        }
        for (const stop of body.stop_sequences ?? []) assert.notEqual(stop.trim(), '')
        for (const block of body.system ?? []) assert.notEqual(block.text, '')
        for (const { role, content } of body.messages) {
          assert.ok(role === 'user' || role === 'assistant' || (role === 'system' && isCurrent))
          assert.ok(content.length > 0)
          for (const block of content) {
            if (block.type === 'text') assert.notEqual(block.text, '')
            if (block.type === 'tool_use') {
              assert.ok(isObject(block.input))
              assert.match(block.id, /^[a-zA-Z0-9_-]+$/)
            }
          }
        }
        checkResults(
          body.messages,
          ({ content }) =>
            content.filter((it: Body) => it.type === 'tool_use').map((it: Body) => it.id),
          ({ content }) =>
            content
              .filter((it: Body) => it.type === 'tool_result')
              .map((it: Body) => it.tool_use_id),
          ({ content }, count) =>
            content.slice(0, count).every((it: Body) => it.type === 'tool_result'),
        )
      })
    })
  }

  for (const model of ['anthropic.claude-sonnet-4-5-v1:0', 'amazon.nova-pro-v1:0']) {
    it(`converse, ${model}`, () => {
      check('converse', model, (body) => {
        const { messages } = body
        messages.forEach(({ role, content }: Body, at: number) => {
          assert.equal(role, at % 2 === 0 ? 'user' : 'assistant')
          assert.ok(content.length > 0)
          for (const block of content) {
            assert.equal(Object.keys(block).length, 1)
            if ('text' in block) assert.notEqual(block.text, '')
            if ('toolUse' in block) assert.ok(isObject(block.toolUse.input))
            if ('document' in block)
              assert.match(block.document.name, /^[a-zA-Z0-9 ()[\]-]{1,200}$/)
          }
        })
        const usesTools = JSON.stringify(messages).includes('"toolUse"')
        if (usesTools) assert.ok(body.toolConfig.tools.length > 0)
        for (const { toolSpec } of body.toolConfig?.tools ?? [])
          assert.match(toolSpec.name, TOOL_NAME)
        const { temperature } = body.inferenceConfig ?? {}
        if (temperature !== undefined) assert.ok(temperature <= 1)
        checkResults(
          messages,
          ({ content }) => content.flatMap((it: Body) => it.toolUse?.toolUseId ?? []),
          ({ content }) => content.flatMap((it: Body) => it.toolResult?.toolUseId ?? []),
          () => true,
        )
      })
    })
  }

  for (const model of ['gemini-2.5-flash', 'gemini-3-pro', 'gemini-2.0-flash']) {
    it(`gemini, ${model}`, () => {
      check('gemini', model, (body) => {
        assert.ok(body.contents.length > 0)
        const config = body.generationConfig ?? {}
        if (model === 'gemini-2.0-flash') assert.equal(config.thinkingConfig, undefined)
        if (!model.startsWith('gemini-3') && body.tools !== undefined)
          assert.equal(config.responseMimeType, undefined)
        assert.ok((config.stopSequences ?? []).length <= 5)
        for (const { role, parts } of body.contents) {
          assert.ok(role === 'user' || role === 'model')
          assert.ok(parts.length > 0)
          const calls = parts.filter((it: Body) => it.functionCall)
          for (const { functionCall } of calls) {
            assert.match(functionCall.name, TOOL_NAME)
            assert.ok(isObject(functionCall.args))
          }
          if (model.startsWith('gemini-3') && calls.length > 0) assert.ok(calls[0].thoughtSignature)
        }
        checkResults(
          body.contents,
          ({ parts }) =>
            parts
              .flatMap((it: Body) => (it.functionCall ? `${it.functionCall.name}` : []))
              .map((it: string, at: number) => `${at} ${it}`),
          ({ parts }) =>
            parts
              .flatMap((it: Body) => it.functionResponse?.name ?? [])
              .map((it: string, at: number) => `${at} ${it}`),
          ({ parts }, count) => parts.slice(0, count).every((it: Body) => it.functionResponse),
        )
      })
    })
  }

  it('responses', () => {
    check('responses', 'gpt-x', (body) => {
      assert.equal(body.store, false)
      if (body.max_output_tokens !== undefined) assert.ok(body.max_output_tokens >= 16)
      for (const tool of body.tools ?? []) {
        assert.match(tool.name, TOOL_NAME)
        assert.ok(isObject(tool.parameters))
      }
      const open = new Set<string>()
      for (const item of body.input) {
        if (item.type === 'function_call') {
          assert.match(item.call_id, /^.{1,64}$/)
          assert.notEqual(item.arguments, '')
          assert.ok(!open.has(item.call_id))
          open.add(item.call_id)
        } else if (item.type === 'function_call_output') assert.ok(open.delete(item.call_id))
      }
      assert.equal(open.size, 0)
    })
  })
})
