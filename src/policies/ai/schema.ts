import * as z from 'zod'
import { anything, choice, expression } from '../scalars.ts'
import { issue } from '../shapes.ts'

const fields = (what: string) =>
  z
    .record(
      z
        .string()
        .min(1)
        .max(256)
        // The first would go around `modelAliases` and the second around what the client reads.
        .refine((name) => name !== 'model' && name !== 'stream', {
          message: '`model` and `stream` cannot be set here',
        }),
      anything,
    )
    .optional()
    .describe(what)

/** Fields of calls, by the expressions that compute them. */
export const computedFields = z
  .record(
    z
      .string()
      .min(1)
      .max(256)
      .refine((name) => name !== 'stream', { message: '`stream` cannot be set here' }),
    expression('any', 'llm'),
  )
  .refine((fields) => Object.keys(fields).length <= 64, { message: 'at most 64 fields' })

/** How paths of calls end, and the kind of call that each is read as; others pass unread. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  '/chat/completions': 'completions',
  '/messages': 'messages',
  '/messages/count_tokens': 'anthropicTokenCount',
  '/responses': 'responses',
  '/embeddings': 'embeddings',
  '/v1/rerank': 'rerank',
  '/v2/rerank': 'rerank',
  '/models': 'models',
  ':generateContent': 'generateContent',
  ':streamGenerateContent': 'generateContent',
  ':countTokens': 'geminiCountTokens',
}

/**
 * Calls are read by their path, and files written for others list which is which: what they list
 * must be what happens.
 */
const routes = z.record(z.string().min(1).max(256), z.string()).check(({ value, issues }) => {
  for (const [path, kind] of Object.entries(value)) {
    const known = Object.entries(ENDPOINTS).find(([end]) => path.endsWith(end))?.[1]
    if (kind === known || (known === undefined && ['passthrough', 'detect'].includes(kind))) {
      continue
    }
    const message =
      known === undefined
        ? `\`${path}\` cannot be read as \`${kind}\``
        : `\`${path}\` is read as \`${known}\`, not as \`${kind}\``
    const hint = 'leave it out: calls are read by their path'
    issues.push(issue(kind, message, { rule: 'unsupported', hint }, [path]))
  }
})

const message = z.strictObject({
  role: choice('system', 'user', 'assistant').describe('Who speaks.'),
  content: z.string().min(1).max(65_536).describe('The text.'),
})

const messages = (what: string) => z.array(message).min(1).max(16).optional().describe(what)

export const promptCaching = z
  .strictObject({
    cacheSystem: z.boolean().prefault(true).describe('Marks the end of the system prompts.'),
    cacheMessages: z
      .boolean()
      .prefault(true)
      .describe('Marks the end of the message before the last one.'),
    cacheTools: z.boolean().prefault(false).describe('Marks the end of the descriptions of tools.'),
    minTokens: z
      .int()
      .min(0)
      .max(100_000_000)
      .prefault(1024)
      .describe(
        'Estimated tokens of the prompt up to a mark, four bytes each: nothing shorter is marked.',
      ),
    cacheMessageOffset: z
      .int()
      .min(0)
      .max(100_000)
      .prefault(0)
      .describe('How many messages earlier the mark of messages is set.'),
  })
  .describe(
    'Marks up to which the provider may keep a prompt for the next call: `cache_control` for ' +
      'Anthropic, `cachePoint` for models of Bedrock that have it. Requests with marks of the ' +
      'client, and calls to other providers, are left as they are.',
  )

export const ai = z
  .strictObject({
    defaults: fields('Fields of the request that are set if the client did not set them.'),
    overrides: fields('Fields of the request that are set whatever the client says.'),
    transformations: computedFields
      .optional()
      .describe(
        'Fields of the request, by the expressions that compute them from what the client sent ' +
          '(`llmRequest`); they win over `overrides`. A field whose expression fails is removed ' +
          'from the request. `model` is the model that the provider is called for: a request whose ' +
          'model cannot be computed is rejected.',
      ),
    prompts: z
      .strictObject({
        prepend: messages('Before all messages; system prompts before those of the client.'),
        append: messages('After all messages; system prompts after those of the client.'),
      })
      .optional()
      .describe('Messages that are added to each call that makes a model write.'),
    promptCaching: promptCaching.optional(),
    routes: routes
      .optional()
      .describe(
        'What calls are read as, by path. Changes nothing: accepted where it says what the gateway ' +
          'does by itself (`/v1/messages: messages`, `*: passthrough`), and rejected otherwise.',
      ),
    modelAliases: z
      .record(z.string().min(1).max(256), z.string().min(1).max(256))
      .optional()
      .describe(
        'The name of a model as clients use it → the model that the provider is called for. ' +
          'Rules read the name that the client used.',
      ),
  })
  .describe(
    'What is changed in calls to models, in the words of the API that the client uses. Those of ' +
      'all levels apply: for the same field or alias, and for `promptCaching`, the most specific ' +
      'counts, and messages of the most general level are the outermost.',
  )

export type Ai = z.output<typeof ai>
export type AddedMessage = z.output<typeof message>
export type PromptCaching = z.output<typeof promptCaching>
