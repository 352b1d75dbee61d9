import { type JsonForm, readJson } from '../cel/values/json-read.ts'
import { double } from '../cel/values/number.ts'
import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { CONTENT_MEMBERS } from '../protocols/llm/content-members.ts'
import type { Endpoint, RequestSummary } from '../protocols/llm/dialect.ts'
import { type FormBody, isForm, readForm } from '../protocols/llm/form-body.ts'
import type { Cost } from '../protocols/llm/index.ts'
import { decodeUtf8 } from '../protocols/llm/json.ts'
import { BYTES_PER_TOKEN, type Usage } from '../protocols/llm/usage.ts'

/* What expressions read of a call to a model. */

/** Fields of requests that are not parameters but content. */
const CONTENT = new Set(['model', ...CONTENT_MEMBERS, 'tools'])

/**
 * The cost limit for reading a body (cel/values/fuel.ts): a few milliseconds for a maliciously
 * expensive one, and about 16,000 fields, far more than any conversation has.
 */
const READING_FUEL = 1_000_000
/** The fuel for each 8 bytes of a longer body: its letters, and as much again for escapes. */
const FUEL_SHIFT = 3

export function attributesOf(summary: RequestSummary, body: JsonObject, size: number): JsonObject {
  const params: Record<string, JsonObject[string]> = {}
  for (const [name, value] of Object.entries(body)) {
    if (!CONTENT.has(name)) params[name] = value
  }
  const prompt = body.messages ?? body.input ?? body.contents ?? body.prompt
  const { tools } = body
  return {
    ...(summary.model === '' ? {} : { requestModel: summary.model }),
    streaming: summary.stream,
    params,
    ...(prompt === undefined ? {} : { prompt }),
    ...(tools === undefined ? {} : { tools }),
    inputTokens: Math.ceil(size / BYTES_PER_TOKEN),
  }
}

export function tokensOf({ input, output, total }: Usage): JsonObject {
  return { inputTokens: input, outputTokens: output, totalTokens: total }
}

/** `llm.cost` in expressions, in US dollars. */
export function costOf(cost: Cost): JsonObject {
  const { total, input, output, cacheRead, cacheWrite, reasoning } = cost
  const dollars = (amount: bigint) => double(Number(amount) / 1e12)
  return {
    total: dollars(total),
    input: dollars(input),
    output: dollars(output),
    cacheRead: dollars(cacheRead),
    cacheWrite: dollars(cacheWrite),
    reasoning: dollars(reasoning),
  }
}

interface ReadCall {
  readonly object: JsonObject
  /** The dialect may use the same object. */
  readonly isOrdinary: boolean
  readonly form?: FormBody
}

/** The body of a call: JSON, or a form for endpoints that accept files. */
export function readCall(
  bytes: Uint8Array,
  { operation }: Endpoint,
  exchange: Exchange | undefined,
): ReadCall | Reply {
  const type = exchange?.request.headers.get('content-type')
  if (operation === 'other' && isForm(type)) {
    const read = readForm(bytes, type ?? '')
    if (!read.ok) return invalid(read.error.message, 'invalid_form')
    const object = read.value.fields as JsonObject
    return { object, isOrdinary: true, form: read.value }
  }
  // Calls about stored objects often have no body, and container calls may send a file.
  const isUnread = bytes.length === 0 || /^multipart\/form-data\b/i.test(type ?? '')
  if (operation === 'state' && isUnread) return { object: {}, isOrdinary: true }
  // Rules and the provider must not read different values.
  const form = { isOrdinary: false }
  const parsed = readObject(bytes, form)
  return 'object' in parsed ? { ...parsed, ...form } : parsed
}

/**
 * A Reply describes the error; it is returned separately because a body may have a Reply's members.
 */
export function readObject(
  bytes: Uint8Array,
  form?: JsonForm,
): { readonly object: JsonObject } | Reply {
  const allowance = { left: READING_FUEL + (bytes.length >> FUEL_SHIFT) }
  const text = decodeUtf8(bytes)
  if (text === undefined) return invalid('The body is not valid UTF-8.')
  const body = readJson(text, { duplicates: 'reject', allowance, form })
  if (allowance.left < 0) return TOO_COSTLY
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return invalid('The body is not a JSON object, or has a duplicate field.')
  }
  return { object: body as JsonObject }
}

const TOO_COSTLY = {
  ...invalid('The body has too many fields.', 'too_many_fields'),
  status: 413,
}

export function invalid(message: string, code?: string): Reply {
  const said = { ...reply(400, 'bad-request'), detail: code ?? 'model-request', message }
  return code === undefined ? said : { ...said, code }
}
