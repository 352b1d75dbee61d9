import type { Exchange } from '../exchange/exchange.ts'
import type { AttachedGuardrails } from '../exchange/guardrails.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { CallWebhook } from '../exchange/webhook.ts'
import type { Guard as GuardPolicy, Guardrails } from '../policies/guardrails/schema.ts'
import { CONTENT_MEMBERS } from '../protocols/llm/content-members.ts'
import {
  type Guard,
  type GuardCheck,
  type GuardedMessage,
  type GuardRule,
  guardMessages,
  guardMessagesNow,
  isRemote,
  type LlmError,
  noteOutcome,
  patternRecognizer,
  recognizerOf,
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
          policy,
          written: one,
          bind: compile(one, webhooks.get(one) as CallWebhook | undefined, phase),
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

function compile(guard: GuardPolicy, call: CallWebhook | undefined, phase: Phase): Bind {
  if (call !== undefined) return webhookOf(guard, call, phase)
  const rule = ruleOf(guard)
  return (_, check) => (check === undefined ? rule : { ...rule, check })
}

function rejectionOf({ rejection }: GuardPolicy): LlmError {
  const { status, message = 'The content is not allowed.' } = rejection
  const written = writtenOf(rejection)
  return { status, type: 'invalidRequest', message, code: 'content_rejected', written }
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
function ruleOf(guard: GuardPolicy): GuardRule {
  const { regex } = guard
  const error = rejectionOf(guard)
  if (regex === undefined) return { recognizers: [ANY_TEXT], rejection: error }
  const recognizers = regex.rules.flatMap(({ builtin, pattern, name = 'MASKED' }) => {
    if (pattern !== undefined) return [patternRecognizer(pattern, name)]
    return recognizerOf(builtin ?? '') ?? []
  })
  return { recognizers, rejection: regex.action === 'Reject' ? error : undefined }
}

const ANY_TEXT = patternRecognizer('(?s).+', 'TEXT')

function webhookOf(guard: GuardPolicy, call: CallWebhook, phase: Phase): Bind {
  const error = rejectionOf(guard)
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
          return isOpen ? texts() : UNAVAILABLE
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

/** Members that do not contain text: protocol keywords, IDs, and file data. */
const STRUCTURE = new Set([
  'type',
  'role',
  'id',
  'call_id',
  'callId',
  'tool_call_id',
  'tool_use_id',
  'data',
  'file_data',
  'file_id',
  'media_type',
  'mimeType',
  'mime_type',
  'signature',
  'thoughtSignature',
  'encrypted_content',
  'cache_control',
  'detail',
  'format',
  'status',
])

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
  return withTexts(body, guardMessagesNow(textsIn(body), localGuards(guards)), EMPTIED)
}

/** The same if one of the guards is a service. */
export async function guardRequestLater(
  body: Readonly<Record<string, unknown>>,
  guards: readonly Guard[],
): Promise<Readonly<Record<string, unknown>> | Reply> {
  // A service may empty a text on purpose.
  const emptied = guards.some(isRemote) ? '' : EMPTIED
  return withTexts(body, await guardMessages(textsIn(body), guards), emptied)
}

function textsIn(body: Readonly<Record<string, unknown>>): readonly GuardedMessage[] {
  const messages: GuardedMessage[] = []
  mapTexts(body, (message) => {
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
  return mapTexts(body, ({ content }) => {
    const text = guarded[at++] ?? content
    return text === '' && content !== '' ? emptied : text
  })
}

/** The content, and text that a model is to repeat or to end with. */
const GUARDED_MEMBERS: readonly string[] = [...CONTENT_MEMBERS, 'prediction', 'suffix']

/** The members of content in which a text changed. */
function mapTexts(
  body: Readonly<Record<string, unknown>>,
  map: (message: GuardedMessage) => string,
): Readonly<Record<string, unknown>> {
  const changed: Record<string, unknown> = {}
  let lists = 0
  const number = () => lists++
  for (const name of GUARDED_MEMBERS) {
    if (!Object.hasOwn(body, name)) continue
    const walk = new Walk(map, number)
    const isSystem = SYSTEM.has(name)
    const value = walk.at(body[name], isSystem ? 'system' : 'user', isSystem)
    if (walk.isChanged) changed[name] = value
  }
  return changed
}

/** Lists in these members contain the parts of one message. */
const PARTS = new Set(['content', 'parts', 'summary'])

const SYSTEM = new Set(['system', 'systemInstruction', 'system_instruction', 'instructions'])

/** Values without text keep their identity: a body may have a hundred thousand of them. */
class Walk {
  isChanged = false
  readonly #map: (message: GuardedMessage) => string
  readonly #number: () => number

  /** `number` returns the number of the next message with parts. */
  constructor(map: (message: GuardedMessage) => string, number: () => number) {
    this.#map = map
    this.#number = number
  }

  /** `isParts`: a list here contains the parts of a message. */
  at(value: unknown, role: string, isParts = false): unknown {
    if (typeof value === 'string') return this.#text({ role, content: value })
    if (Array.isArray(value)) return this.#list(value, role, isParts ? this.#number() : undefined)
    if (typeof value !== 'object' || value === null || !isPlain(value)) return value
    return this.#object(value as Readonly<Record<string, unknown>>, role)
  }

  #list(list: readonly unknown[], role: string, message: number | undefined): unknown {
    let changed: unknown[] | undefined
    for (let index = 0; index < list.length; index++) {
      const given = list[index]
      const item = message === undefined ? this.at(given, role) : this.#part(given, role, message)
      if (item === given) continue
      changed ??= [...list]
      changed[index] = item
    }
    return changed ?? list
  }

  #part(part: unknown, role: string, message: number): unknown {
    if (typeof part === 'string') return this.#text({ role, content: part, message })
    const isObject = typeof part === 'object' && part !== null && !Array.isArray(part)
    if (!isObject || !isPlain(part)) return this.at(part, role)
    return this.#object(part as Readonly<Record<string, unknown>>, role, message)
  }

  /** `message`: the object is a part of it. */
  #object(object: Readonly<Record<string, unknown>>, role: string, message?: number): unknown {
    const { role: own = role } = object
    const spoken = typeof own === 'string' ? own : role
    let changed: Record<string, unknown> | undefined
    for (const name of Object.keys(object)) {
      const member = object[name]
      if (typeof member === 'string' && STRUCTURE.has(name)) continue
      const mapped =
        name === 'text' && typeof member === 'string'
          ? this.#text({ role: spoken, content: member, message })
          : this.at(member, spoken, PARTS.has(name))
      if (mapped === member) continue
      changed ??= { ...object }
      Object.defineProperty(changed, name, { ...MEMBER, value: mapped })
    }
    return changed ?? object
  }

  #text(message: GuardedMessage): string {
    const { content } = message
    // Image data is not text, so searching it is useless.
    if (content.startsWith('data:') && /^data:[\w/+.-]+;base64,/.test(content)) return content
    const mapped = this.#map(message)
    this.isChanged ||= mapped !== content
    return mapped
  }
}

/** For members with any name, `__proto__` included. */
const MEMBER = { configurable: true, enumerable: true, writable: true } as const

/** Numbers that keep their spelling are objects, too. */
function isPlain(value: object): boolean {
  const { isRawJSON } = JSON as unknown as { isRawJSON: (value: unknown) => boolean }
  return !isRawJSON(value)
}

/** The reply to a client whose call guards reject. */
export function rejectedBy({ status, message, code = '', written }: LlmError): Reply {
  const reason = status >= 500 ? 'external-authorization' : 'authorization'
  return { ...reply(status, reason), detail: 'guard', message, code, ...written }
}
