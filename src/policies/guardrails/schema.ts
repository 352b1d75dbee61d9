import * as z from 'zod'
import { compilePattern } from '../../cel/library/regex-pattern.ts'
import { headerChanges } from '../header-changes.ts'
import { choice, duration, expression, headerName, scalar } from '../scalars.ts'
import { issue, oneOfKeys } from '../shapes.ts'
import { target } from '../target.ts'
import { bedrockGuardrails, contentSafety, failureMode, moderation } from './service-schemas.ts'

/** The recognizers of protocols/llm/guards, by name. */
export const BUILT_IN = [
  'email',
  'apiKey',
  'iban',
  'creditCard',
  'ssn',
  'caSin',
  'phoneNumber',
] as const

const builtIn = choice(...BUILT_IN)

const pattern = scalar<string>({
  what: 'a regular expression',
  hint: 'use RE2 syntax',
  maxLength: 2048,
  parse: (text) => (text === '' || compilePattern(text) === undefined ? undefined : text),
})

const rule = oneOfKeys(
  z.strictObject({
    builtin: builtIn.optional().describe('A built-in recognizer.'),
    pattern: pattern.optional().describe('A regular expression in RE2 syntax.'),
    name: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/)
      .optional()
      .describe('The name that replaces matches of `pattern`, as `<NAME>`. Default: `MASKED`.'),
  }),
  ['builtin', 'pattern'],
)

const regex = z
  .strictObject({
    action: choice('Mask', 'Reject')
      .prefault('Mask')
      .describe('Mask: replaces matches. Reject: rejects the call.'),
    rules: z.array(rule).min(1).max(64).describe('What to look for.'),
  })
  .describe('Looks for text patterns.')

export const webhook = z
  .strictObject({
    target: target().describe('The address of the service.'),
    path: z
      .string()
      .max(1024)
      .regex(/^(?:\/[!-"$->@-~]*)?$/)
      .prefault('')
      .describe(
        'The path prefix. The gateway calls `POST <path>/request` and `POST <path>/response`.',
      ),
    includeRequestHeaders: z
      .array(headerName())
      .max(64)
      .prefault([])
      .describe('Client headers to forward to the service.'),
    headers: z
      .record(
        z.string().regex(/^(?::path|:authority|[!#$%&'*+\-.^_`|~0-9A-Za-z]+)$/),
        expression('string', 'llm'),
      )
      .prefault({})
      .describe(
        'Additional headers to send, as CEL expressions. `:path` replaces the full path, and `:authority` the ' +
          'Host header.',
      ),
    timeout: duration().prefault('5s').describe('The timeout of calls to the service.'),
    failureMode: failureMode(),
  })
  .describe('Sends all text to a service that accepts it, masks it or rejects the call.')

const rejection = z
  .strictObject({
    status: z.int().min(400).max(499).prefault(403).describe('The status.'),
    message: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe('The message for clients, in the error format of their API.'),
    body: z
      .string()
      .min(1)
      .max(65_536)
      .optional()
      .describe(
        'The complete body, instead of an error in the format of the API. A stream that has already ' +
          'started always ends with such an error.',
      ),
    headers: headerChanges().optional().describe('Changes to the response headers.'),
  })
  .check(({ value, issues }) => {
    if (value.body === undefined || value.message === undefined) return
    const params = { rule: 'excludes', hint: 'remove one of them' } as const
    issues.push(issue(value, '`message` and `body` are mutually exclusive', params, ['body']))
  })

/** The kinds of guards; a guard has exactly one. */
const KINDS = [
  'regex',
  'webhook',
  'openAIModeration',
  'azureContentSafety',
  'bedrockGuardrails',
] as const

const guard = oneOfKeys(
  z.strictObject({
    regex: regex.optional(),
    webhook: webhook.optional(),
    openAIModeration: moderation.optional(),
    azureContentSafety: contentSafety.optional(),
    bedrockGuardrails: bedrockGuardrails.optional(),
    rejection: rejection
      .prefault({})
      .describe('The response to rejected calls, unless the service provides its own.'),
  }),
  [...KINDS],
)

const guards = (what: string) => z.array(guard).min(1).max(16).optional().describe(what)

export const guardrails = z
  .strictObject({
    streaming: choice('Enabled')
      .optional()
      .describe('Accepted for compatibility: streams are always guarded.'),
    request: guards(
      'Applies to the input of models: prompts, system prompts, documents, tool arguments and results.',
    ),
    response: guards(
      'Applies to the output of models, including streams: text, reasoning and, unless matches are ' +
        'masked, tool arguments. ' +
        'Responses are translated for this, so fields that the gateway does not know are dropped.',
    ),
  })
  .describe(
    'Masks or rejects sensitive content in the input and output of models. Guards run in list ' +
      'order, and those of all levels apply. Requests that are not model calls are denied.',
  )

export type Guardrails = z.output<typeof guardrails>
export type Guard = z.output<typeof guard>
export type Webhook = z.output<typeof webhook>

/** The name of the first guard that is a service; undefined: all are regex rules. */
export function calledService({ request = [], response = [] }: Guardrails): string | undefined {
  const services = KINDS.filter((kind) => kind !== 'regex')
  return services.find((kind) => [...request, ...response].some((one) => one[kind] !== undefined))
}

/** Whether the response of a model or a tool may be rejected: whether it is depends on what it says. */
export function rejectsResponses({ response = [] }: Guardrails): boolean {
  return response.some(({ regex }) => regex?.action !== 'Mask')
}
