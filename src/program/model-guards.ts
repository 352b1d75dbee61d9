import type { Exchange } from '../exchange/exchange.ts'
import type { AttachedGuardrails } from '../exchange/guardrails.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { CallWebhook } from '../exchange/webhook.ts'
import type { PolicyPlace } from '../model/policy.ts'
import type { Guard as GuardPolicy, Guardrails } from '../policies/guardrails/schema.ts'
import {
  type Guard,
  type GuardCheck,
  type GuardedMessage,
  type GuardRule,
  guardMessages,
  guardMessagesNow,
  hasTokens,
  isRemote,
  type LlmError,
  mapRequestTexts,
  noteOutcome,
  patternRecognizer,
  recognizersOf,
} from '../protocols/llm/index.ts'

/* Applies guards to a call: to its texts before it is sent, and the rules for its response. */

export interface CallGuards {
  readonly request: readonly Guard[]
  readonly response: readonly Guard[]
}

type Phase = 'request' | 'response'

/** Binds one guard to one call; guards that are services are called on its behalf. */
type Bind = (exchange: Exchange, check: GuardCheck | undefined) => Guard

interface Bound {
  /** The same for all providers that share the policy. */
  readonly written: GuardPolicy
  readonly policy: string
  readonly bind: Bind
}

interface Compiled {
  readonly request: readonly Bound[]
  readonly response: readonly Bound[]
}

/** Lists of guards are created once for each configuration, and so are these. */
const KNOWN = new WeakMap<readonly AttachedGuardrails[], Compiled>()

/** The results of the guards of one call: one for each, however many providers are tried. */
export type GuardChecks = Map<object, GuardCheck>

export function guardsOf(exchange: Exchange, checks?: GuardChecks): CallGuards {
  const attached = exchange.guardrails
  if (attached.length === 0) return NO_GUARDS
  let known = KNOWN.get(attached)
  if (known === undefined) {
    const of = (phase: Phase) =>
      attached.flatMap(({ policy, value, webhooks }) =>
        ((value as Guardrails)[phase] ?? []).map((one) => ({
          policy: policy.policy,
          written: one,
          bind: compile(one, policy, webhooks.get(one) as CallWebhook | undefined, phase),
        })),
      )
    known = { request: of('request'), response: of('response') }
    KNOWN.set(attached, known)
  }
  const bound = (phase: Phase, guards: readonly Bound[]) =>
    guards.map((guard) => {
      const { policy, written, bind } = guard
      if (checks === undefined) return bind(exchange, undefined)
      const check = checks.get(written) ?? { policy, phase, outcome: undefined }
      checks.set(written, check)
      return bind(exchange, check)
    })
  return { request: bound('request', known.request), response: bound('response', known.response) }
}

const NO_GUARDS: CallGuards = { request: [], response: [] }

function compile(
  guard: GuardPolicy,
  by: PolicyPlace,
  call: CallWebhook | undefined,
  phase: Phase,
): Bind {
  if (call !== undefined) return webhookOf(guard, by, call, phase)
  const rule = ruleOf(guard, by)
  return (_, check) => (check === undefined ? rule : { ...rule, check })
}

function rejectionOf({ rejection }: GuardPolicy, by: PolicyPlace): LlmError {
  const { status, message = 'The content is not allowed.' } = rejection
  const written = writtenOf(rejection)
  return { status, type: 'invalidRequest', message, code: 'content_rejected', written, by }
}

function writtenOf({ body = '', headers }: GuardPolicy['rejection']): LlmError['written'] {
  if (body === '' && headers === undefined) return undefined
  const isType = ({ name }: { readonly name: string }) => name.toLowerCase() === 'content-type'
  const { set = [], add = [], remove = [] } = headers ?? {}
  const type = set.findLast(isType)?.value ?? 'text/plain; charset=utf-8'
  const edit = headerEdit({ set: set.filter((one) => !isType(one)), add, remove })
  return { body, contentType: body === '' ? '' : type, headers: edit }
}

/** A guard that is neither pattern nor service is unknown and rejects everything. */
function ruleOf(guard: GuardPolicy, by: PolicyPlace): GuardRule {
  const { regex } = guard
  const error = rejectionOf(guard, by)
  if (regex === undefined) return { recognizers: [ANY_TEXT], rejection: error }
  const recognizers = regex.rules.flatMap(({ builtin, pattern, name = 'MASKED' }) => {
    if (pattern !== undefined) return [patternRecognizer(pattern, name)]
    return recognizersOf(builtin ?? '')
  })
  return { recognizers, rejection: regex.action === 'Reject' ? error : undefined }
}

const ANY_TEXT = patternRecognizer('(?s).+', 'TEXT')

function webhookOf(guard: GuardPolicy, by: PolicyPlace, call: CallWebhook, phase: Phase): Bind {
  const error = rejectionOf(guard, by)
  const { webhook, openAIModeration, azureContentSafety, bedrockGuardrails } = guard
  const service = webhook ?? openAIModeration ?? azureContentSafety ?? bedrockGuardrails
  const isOpen = service?.failureMode === 'Allow'
  return (exchange, check) => ({
    async judge(messages) {
      const texts = () => messages.map(({ content }) => content)
      if (messages.length === 0) return []
      const verdict = await call(exchange, phase, messages)
      noteOutcome(check, verdict.kind === 'failed' ? 'error' : verdict.kind)
      switch (verdict.kind) {
        case 'passed':
          return texts()
        case 'masked':
          return verdict.texts
        case 'rejected': {
          const { status = error.status, message = '' } = verdict
          // The service's own message is for clients; the policy's body applies if there is none.
          return message === ''
            ? { ...error, status }
            : { ...error, status, message, written: undefined }
        }
        case 'failed':
          return isOpen ? texts() : { ...UNAVAILABLE, by }
      }
    },
  })
}

const UNAVAILABLE: LlmError = {
  status: 503,
  type: 'overloaded',
  message: 'The content could not be checked, so the call is rejected.',
  code: 'guard_unavailable',
}

/** Guards that need no service; each guard that does is replaced by one that rejects everything. */
export function localGuards(guards: readonly Guard[]): readonly GuardRule[] {
  return guards.map((guard) => (isRemote(guard) ? REJECT_ALL : guard))
}

const REJECT_ALL: GuardRule = { recognizers: [ANY_TEXT], rejection: UNAVAILABLE }

/** The members to send instead; a Reply if the call is rejected. */
export function guardRequest(
  body: Readonly<Record<string, unknown>>,
  guards: readonly Guard[],
): Readonly<Record<string, unknown>> | Reply {
  if (guards.length === 0) return {}
  if (hasTokens(body)) return UNREADABLE_TOKENS
  return withTexts(body, guardMessagesNow(textsIn(body), localGuards(guards)), EMPTIED)
}

/** The same if one of the guards is a service. */
export async function guardRequestLater(
  body: Readonly<Record<string, unknown>>,
  guards: readonly Guard[],
): Promise<Readonly<Record<string, unknown>> | Reply> {
  if (hasTokens(body)) return UNREADABLE_TOKENS
  // A service may empty a text on purpose.
  const emptied = guards.some(isRemote) ? '' : EMPTIED
  return withTexts(body, await guardMessages(textsIn(body), guards), emptied)
}

/** What cannot be read is not known to be harmless. */
const UNREADABLE_TOKENS = rejectedBy({
  ...{ status: 400, type: 'invalidRequest', code: 'content_unreadable' },
  message: 'Input as numbers of tokens cannot be guarded: send it as text.',
})

function textsIn(body: Readonly<Record<string, unknown>>): readonly GuardedMessage[] {
  const messages: GuardedMessage[] = []
  mapRequestTexts(body, (message) => {
    messages.push(message)
    return message.content
  })
  return messages
}

/** Replaces a part that the previous guard masked completely: providers reject empty parts. */
const EMPTIED = '<MASKED>'

function withTexts(
  body: Readonly<Record<string, unknown>>,
  guarded: readonly string[] | LlmError,
  emptied: string,
): Readonly<Record<string, unknown>> | Reply {
  if ('status' in guarded) return rejectedBy(guarded)
  let at = 0
  return mapRequestTexts(body, ({ content }) => {
    const text = guarded[at++] ?? content
    return text === '' && content !== '' ? emptied : text
  })
}

/** The reply to a client whose call guards reject. */
export function rejectedBy({ status, message, code = '', written, by }: LlmError): Reply {
  const reason = status >= 500 ? 'external-authorization' : 'authorization'
  return { ...reply(status, reason), detail: 'guard', message, code, by, ...written }
}
