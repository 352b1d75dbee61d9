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
  hint: 'write it in the syntax of RE2',
  maxLength: 2048,
  parse: (text) => (text === '' || compilePattern(text) === undefined ? undefined : text),
})

const rule = oneOfKeys(
  z.strictObject({
    builtin: builtIn.optional().describe('A recognizer that the gateway has.'),
    pattern: pattern.optional().describe('A regular expression, in the syntax of RE2.'),
    name: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/)
      .optional()
      .describe('What replaces a match of `pattern`: `<NAME>`; `MASKED` by default.'),
  }),
  ['builtin', 'pattern'],
)

const regex = z
  .strictObject({
    action: choice('Mask', 'Reject')
      .prefault('Mask')
      .describe('Mask: what is found is replaced. Reject: the call is.'),
    rules: z.array(rule).min(1).max(64).describe('What is looked for.'),
  })
  .describe('Looks for texts of some form.')

export const webhook = z
  .strictObject({
    target: target().describe('The service that decides.'),
    path: z
      .string()
      .max(1024)
      .regex(/^(?:\/[!-"$->@-~]*)?$/)
      .prefault('')
      .describe('What its paths begin with: `POST <path>/request` and `POST <path>/response`.'),
    includeRequestHeaders: z
      .array(headerName())
      .max(64)
      .prefault([])
      .describe('Headers of the client that the service gets, too.'),
    headers: z
      .record(
        z.string().regex(/^(?::path|:authority|[!#$%&'*+\-.^_`|~0-9A-Za-z]+)$/),
        expression('string', 'llm'),
      )
      .prefault({})
      .describe(
        'Further headers to send, by expression; `:path` is the whole path, and `:authority` the ' +
          'Host of the request.',
      ),
    timeout: duration().prefault('5s').describe('How long to wait for a response.'),
    failureMode: failureMode(),
  })
  .describe('Sends all texts to a service, which accepts them, masks them or rejects the call.')

const rejection = z
  .strictObject({
    status: z.int().min(400).max(499).prefault(403).describe('The status.'),
    message: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe("The message for clients, in the form of their API's errors."),
    body: z
      .string()
      .min(1)
      .max(65_536)
      .optional()
      .describe(
        'The whole body, in place of an error in the form of the API. A stream that has begun ' +
          'ends with such an error all the same.',
      ),
    headers: headerChanges().optional().describe('Changes to the headers of the response.'),
  })
  .check(({ value, issues }) => {
    if (value.body === undefined || value.message === undefined) return
    const params = { rule: 'excludes', hint: 'keep one of them' } as const
    issues.push(issue(value, '`message` and `body` exclude each other', params, ['body']))
  })

/** What a guard is; exactly one of them. */
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
      .describe('How a call is rejected, if a service does not say so itself.'),
  }),
  [...KINDS],
)

const guards = (what: string) => z.array(guard).min(1).max(16).optional().describe(what)

export const guardrails = z
  .strictObject({
    streaming: choice('Enabled')
      .optional()
      .describe('Streams are always guarded; written for files of others.'),
    request: guards('For what is sent to models: prompts, system prompts, results of tools.'),
    response: guards(
      'For what models write, streams included: text and reasoning, not arguments of tools. ' +
        'Responses are translated for it, so that what the gateway does not know is dropped.',
    ),
  })
  .describe(
    'Masks or rejects what must not reach models, or must not come from them. In the order of ' +
      'the list; those of all levels apply. Requests that are not calls to models are denied.',
  )

export type Guardrails = z.output<typeof guardrails>
export type Guard = z.output<typeof guard>
export type Webhook = z.output<typeof webhook>

/** The name of the first guard that is a service; undefined: all of them are rules. */
export function calledService({ request = [], response = [] }: Guardrails): string | undefined {
  const services = KINDS.filter((kind) => kind !== 'regex')
  return services.find((kind) => [...request, ...response].some((one) => one[kind] !== undefined))
}
