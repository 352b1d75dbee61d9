import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { DialectName } from '../dialect.ts'
import { SdkTypes } from '../testdata/sdk-types.ts'
import { guardedTranslator } from '../translate.ts'
import { patternRecognizer } from './guard-rule.ts'
import { mapRequestTexts } from './request-texts.ts'
import { IDENTIFIERS, OPTIONS } from './unguarded-members.ts'

const declared = (folder: string, files: readonly string[]) =>
  new SdkTypes(
    files.map((file) =>
      fileURLToPath(
        new URL(`../../../../node_modules/${folder}/resources/${file}.d.ts`, import.meta.url),
      ),
    ),
  )
const openai = declared('openai', [
  ...['chat/completions/completions', 'responses/responses', 'shared', 'embeddings'],
])
const anthropic = declared('@anthropic-ai/sdk', ['messages/messages'])

const SECRET = 'project orion'

/** What a guard reads of a request. */
function textsIn(body: unknown): readonly string[] {
  const texts: string[] = []
  mapRequestTexts(body as Readonly<Record<string, unknown>>, ({ content }) => {
    texts.push(content)
    return content
  })
  return texts
}

describe('guards read every string of a request that the vendors define', () => {
  for (const [types, root, count] of [
    [openai, 'ChatCompletionCreateParamsBase', 30],
    [openai, 'ResponseCreateParamsBase', 250],
    [openai, 'EmbeddingCreateParams', 2],
    [anthropic, 'MessageCreateParamsBase', 90],
    [anthropic, 'MessageCountTokensParams', 90],
  ] as const) {
    it(root, () => {
      const unseen = (text: string) => {
        const all = types.samples(root, text, (member) => OPTIONS.has(member))
        assert.ok(all.length >= count, `${all.length} strings`)
        return all
          .filter(({ value }) => !textsIn(value).some((one) => one.includes(text)))
          .map(({ label }) => label)
      }
      assert.deepEqual(unseen(SECRET), [])
      // One word may be an ID or a keyword of the API.
      const words = unseen('project-orion').map((label) => label.split('.').at(-1) as string)
      assert.deepEqual(
        words.filter((name) => !IDENTIFIERS.has(name) && name !== 'type'),
        [],
      )
    })
  }

  // No package has the types of these: the members of their reference pages.
  for (const [what, body] of [
    ['a text of Gemini', { contents: [{ parts: [{ text: SECRET }] }] }],
    ['a call', { contents: [{ parts: [{ functionCall: { name: 'f', args: { a: SECRET } } }] }] }],
    ['a name in a call', { contents: [{ parts: [{ functionCall: { args: { [SECRET]: 1 } } }] }] }],
    ['a result', { contents: [{ parts: [{ functionResponse: { response: { id: SECRET } } }] }] }],
    ['code', { contents: [{ parts: [{ executableCode: { code: SECRET } }] }] }],
    ['an output', { contents: [{ parts: [{ codeExecutionResult: { output: SECRET } }] }] }],
    ['a file', { contents: [{ parts: [inline('text/plain')] }] }],
    ['a file of another name', { contents: [{ parts: [inline('application/pdf')] }] }],
    ['a name of a file', { contents: [{ parts: [{ fileData: { fileUri: SECRET } }] }] }],
    ['an instruction', { system_instruction: { parts: [{ text: SECRET }] } }],
    ['texts to count', { generateContentRequest: { contents: [{ parts: [{ text: SECRET }] }] } }],
    ['a text to embed', { content: { parts: [{ text: SECRET }] } }],
    ['texts to embed', { requests: [{ content: { parts: [{ text: SECRET }] } }] }],
    ['a text of Converse', { messages: [{ content: [{ text: SECRET }] }] }],
    ['an input', { messages: [{ content: [{ toolUse: { input: { status: SECRET } } }] }] }],
    [
      'a JSON result',
      { messages: [{ content: [{ toolResult: { content: [{ json: { a: [SECRET] } }] } }] }] },
    ],
    [
      'a document',
      { messages: [{ content: [{ document: { source: { bytes: base64(SECRET) } } }] }] },
    ],
    [
      'a document of texts',
      { messages: [{ content: [{ document: { source: { content: [{ text: SECRET }] } } }] }] },
    ],
    ['what to search', { query: SECRET, documents: [{ text: 'a' }] }],
    ['a document to search', { query: 'a', documents: [{ title: SECRET }] }],
    ['a member that is new', { whatever: { deep: [[{ er: SECRET }]] } }],
  ] as const) {
    it(what, () => {
      assert.ok(textsIn(body).some((text) => text.includes(SECRET)))
    })
  }
})

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function inline(mimeType: string): object {
  return { inlineData: { mimeType, data: base64(SECRET) } }
}

describe('guards read every string of a response that clients get', () => {
  const rule = {
    recognizers: [patternRecognizer(SECRET, 'X')],
    rejection: { status: 403, type: 'permission', message: 'no' } as const,
  }
  const request = JSON.stringify({
    ...{ model: 'm', max_tokens: 9, input: 'a' },
    messages: [{ role: 'user', content: 'a' }],
  })

  for (const [types, root, dialect] of [
    [openai, 'ChatCompletion', 'completions'],
    [openai, 'Response', 'responses'],
    [anthropic, 'Message', 'messages'],
  ] as const) {
    it(root, async () => {
      const passed: string[] = []
      let rejected = 0
      for (const client of ['completions', 'responses', 'messages'] as readonly DialectName[]) {
        const translator = guardedTranslator(client, dialect)
        const read = translator?.translate(Buffer.from(request), { maker: 'p', guards: [rule] })
        assert.ok(read?.ok)
        for (const { value, label } of types.samples(root, SECRET, () => false)) {
          const later = await read.value.responseLater?.(Buffer.from(JSON.stringify(value)))
          if (later?.ok === false) rejected++
          else if (
            String(later?.ok === true ? Buffer.from(later.value.body) : '').includes(SECRET)
          ) {
            passed.push(label)
          }
        }
      }
      assert.ok(rejected >= 9, `${rejected} rejected`)
      assert.deepEqual([...new Set(passed)].sort(), PASSED[root])
    })
  }
})

/** Names of calls and tools, and what only the provider can read: clients send them back. */
const PASSED: Readonly<Record<string, readonly string[]>> = {
  ChatCompletion: [
    'ChatCompletionMessageCustomToolCall.id',
    'ChatCompletionMessageFunctionToolCall.Function.name',
    'ChatCompletionMessageFunctionToolCall.id',
  ],
  Response: [
    'ResponseFunctionToolCall.call_id',
    'ResponseFunctionToolCall.name',
    'ResponseReasoningItem.encrypted_content',
  ],
  Message: [
    'RedactedThinkingBlock.data',
    'ThinkingBlock.signature',
    'ToolUseBlock.id',
    'ToolUseBlock.name',
  ],
}
