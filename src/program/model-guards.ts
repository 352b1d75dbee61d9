import type { AttachedGuardrails } from '../exchange/guardrails.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Guard, Guardrails } from '../policies/guardrails/schema.ts'
import { CONTENT_MEMBERS } from '../protocols/llm/content-members.ts'
import {
  type GuardRule,
  guardText,
  type LlmError,
  patternRecognizer,
  recognizerOf,
  searchEffort,
} from '../protocols/llm/index.ts'

/* What guards do to a call: its texts before it is sent, and the rules for its response. */

interface Compiled {
  readonly request: readonly GuardRule[]
  readonly response: readonly GuardRule[]
}

/** Lists of guards are made once for each configuration, and so are these. */
const KNOWN = new WeakMap<readonly AttachedGuardrails[], Compiled>()

export function guardsOf(attached: readonly AttachedGuardrails[]): Compiled {
  let known = KNOWN.get(attached)
  if (known === undefined) {
    const values = attached.map(({ value }) => value as Guardrails)
    known = {
      request: values.flatMap(({ request = [] }) => request.map(ruleOf)),
      response: values.flatMap(({ response = [] }) => response.map(ruleOf)),
    }
    KNOWN.set(attached, known)
  }
  return known
}

function ruleOf({ regex, rejection }: Guard): GuardRule {
  const { status, message = 'The content is not allowed here.' } = rejection
  const recognizers = regex.rules.flatMap(({ builtin, pattern, name = 'MASKED' }) => {
    if (pattern !== undefined) return [patternRecognizer(pattern, name)]
    return recognizerOf(builtin ?? '') ?? []
  })
  const error: LlmError = { status, type: 'invalidRequest', message, code: 'content_rejected' }
  return { recognizers, rejection: regex.action === 'Reject' ? error : undefined }
}

/** Members that are no text of anybody's: words of the protocol, ids, and data of files. */
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

/** The members that are to be sent instead; a Reply if the call is rejected. */
export function guardRequest(
  body: Readonly<Record<string, unknown>>,
  rules: readonly GuardRule[],
): Readonly<Record<string, unknown>> | Reply {
  if (rules.length === 0) return {}
  const changed: Record<string, unknown> = {}
  const effort = searchEffort()
  for (const name of CONTENT_MEMBERS) {
    if (!Object.hasOwn(body, name)) continue
    const walk = new Walk(rules, effort)
    const value = walk.at(body[name])
    if (walk.rejection !== undefined) return rejected(walk.rejection)
    if (walk.isChanged) changed[name] = value
  }
  return changed
}

class Walk {
  rejection: LlmError | undefined
  isChanged = false
  readonly #rules: readonly GuardRule[]
  readonly #effort: ReturnType<typeof searchEffort>

  constructor(rules: readonly GuardRule[], effort: ReturnType<typeof searchEffort>) {
    this.#rules = rules
    this.#effort = effort
  }

  at(value: unknown): unknown {
    if (this.rejection !== undefined) return value
    if (typeof value === 'string') return this.#text(value)
    if (Array.isArray(value)) return value.map((item) => this.at(item))
    if (typeof value !== 'object' || value === null || !isPlain(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        STRUCTURE.has(name) && typeof member === 'string' ? member : this.at(member),
      ]),
    )
  }

  #text(text: string): string {
    // Data of images is no text, and would be searched in vain.
    if (/^data:[\w/+.-]+;base64,/.test(text)) return text
    const guarded = guardText(text, this.#rules, this.#effort)
    if (guarded.rejection !== undefined) {
      this.rejection = guarded.rejection
      return text
    }
    this.isChanged ||= guarded.text !== text
    return guarded.text
  }
}

/** Numbers that keep their spelling are objects, too. */
function isPlain(value: object): boolean {
  const { isRawJSON } = JSON as unknown as { isRawJSON: (value: unknown) => boolean }
  return !isRawJSON(value)
}

function rejected({ status, message, code = '' }: LlmError): Reply {
  return { ...reply(status, 'authorization'), detail: 'guard', message, code }
}
