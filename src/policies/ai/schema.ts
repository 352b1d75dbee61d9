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
        // The first would bypass `modelAliases`; the second would change how the client reads the
        // response.
        .refine((name) => name !== 'model' && name !== 'stream', {
          message: '`model` and `stream` cannot be set here',
        }),
      anything,
    )
    .optional()
    .describe(what)

/** Fields of calls, each with the expression that computes it. */
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

/**
 * Path suffixes of calls, and the kind of call that each is read as; others are forwarded unread.
 */
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
 * The path determines how a call is read. Configurations written for other gateways list the kind
 * of each path, and these entries must match.
 */
const routes = z.record(z.string().min(1).max(256), z.string()).check(({ value, issues }) => {
  for (const [path, kind] of Object.entries(value)) {
    const known = Object.entries(ENDPOINTS).find(([end]) => path.endsWith(end))?.[1]
    if (kind === known || (known === undefined && ['passthrough', 'detect'].includes(kind))) {
      continue
    }
    const message =
      known === undefined
        ? `\`${path}\` cannot be handled as \`${kind}\``
        : `\`${path}\` is handled as \`${known}\`, not as \`${kind}\``
    const hint = 'remove this entry: the type of a call is determined by its path'
    issues.push(issue(kind, message, { rule: 'unsupported', hint }, [path]))
  }
})

const message = z.strictObject({
  role: choice('system', 'user', 'assistant').describe('The role of the author.'),
  content: z.string().min(1).max(65_536).describe('The text of the message.'),
})

const messages = (what: string) => z.array(message).min(1).max(16).optional().describe(what)

export const promptCaching = z
  .strictObject({
    cacheSystem: z
      .boolean()
      .prefault(true)
      .describe('Sets a cache mark at the end of the system prompts.'),
    cacheMessages: z
      .boolean()
      .prefault(true)
      .describe('Sets a cache mark at the end of the second-to-last message.'),
    cacheTools: z
      .boolean()
      .prefault(false)
      .describe('Sets a cache mark at the end of the tool descriptions.'),
    minTokens: z
      .int()
      .min(0)
      .max(100_000_000)
      .prefault(1024)
      .describe(
        'The minimum estimated size of a prompt up to a mark, in tokens of four bytes. Shorter prompts are not marked.',
      ),
    cacheMessageOffset: z
      .int()
      .min(0)
      .max(100_000)
      .prefault(0)
      .describe('How many messages earlier to set the message mark.'),
  })
  .describe(
    'Marks up to which the provider can cache a prompt for later calls: `cache_control` for ' +
      'Anthropic, `cachePoint` for Bedrock models that support it. Requests that already contain ' +
      'marks and calls to other providers are not changed.',
  )

export const ai = z
  .strictObject({
    defaults: fields('Request fields to set if the client did not set them.'),
    overrides: fields('Request fields to set, replacing those of the client.'),
    transformations: computedFields
      .optional()
      .describe(
        "Request fields to set, as CEL expressions over the client's request " +
          '(`llmRequest`). They take precedence over `overrides`. If an expression fails, its field is removed ' +
          'from the request. `model` is the model to call; if it cannot be computed, the ' +
          'request is rejected.',
      ),
    prompts: z
      .strictObject({
        prepend: messages(
          'Added before all messages; system prompts are added before those of the client.',
        ),
        append: messages(
          'Added after all messages; system prompts are added after those of the client.',
        ),
      })
      .optional()
      .describe('Messages to add to each generation call.'),
    promptCaching: promptCaching.optional(),
    routes: routes
      .optional()
      .describe(
        'How calls are handled, by path. Has no effect: accepted only if it matches what the gateway ' +
          'does anyway (`/v1/messages: messages`, `*: passthrough`), otherwise rejected.',
      ),
    modelAliases: z
      .record(z.string().min(1).max(256), z.string().min(1).max(256))
      .optional()
      .describe(
        'Maps model names that clients use to the models of the provider. ' +
          'Rules see the name that the client used.',
      ),
  })
  .describe(
    'Modifies calls to models, in the format of the API that the client uses. Policies of ' +
      'all levels apply: for the same field or alias, and for `promptCaching`, the most specific ' +
      'one wins; messages of the most general level are outermost.',
  )

export type Ai = z.output<typeof ai>
export type AddedMessage = z.output<typeof message>
export type PromptCaching = z.output<typeof promptCaching>
