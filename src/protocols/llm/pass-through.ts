import type {
  Dialect,
  DialectName,
  Endpoint,
  Operation,
  ResponseSummary,
  StreamTap,
} from './dialect.ts'
import { errorHeaders, invalidRequest, type LlmError } from './error.ts'
import type { Translator } from './translator.ts'
import { count, type Usage, usageFrom } from './usage.ts'

/* Calls that pass as they are: what of them is read, and what the gateway says itself. */

const ENCODER = new TextEncoder()
const DECODER = new TextDecoder()

type Json = Readonly<Record<string, unknown>>

interface Plain {
  readonly name: DialectName
  /** By method and path below the version. */
  readonly endpoints: Readonly<Record<string, Operation>>
  usage(body: Json): Usage | undefined
  /** Of an event of a stream: what has the fields of a whole response. */
  inner(event: Json): Json | undefined
  error(error: LlmError): Json
}

const OPENAI_ERRORS: Readonly<Partial<Record<LlmError['type'], string>>> = {
  authentication: 'authentication_error',
  permission: 'permission_error',
  rateLimit: 'rate_limit_error',
  server: 'server_error',
  overloaded: 'server_error',
  timeout: 'server_error',
}

const openAiError = ({ type, message, code, param }: LlmError): Json => ({
  error: {
    message,
    type: OPENAI_ERRORS[type] ?? 'invalid_request_error',
    param: param ?? null,
    code: code ?? null,
  },
})

const ANTHROPIC_ERRORS: Readonly<Record<LlmError['type'], string>> = {
  invalidRequest: 'invalid_request_error',
  authentication: 'authentication_error',
  billing: 'billing_error',
  permission: 'permission_error',
  notFound: 'not_found_error',
  conflict: 'conflict_error',
  tooLarge: 'request_too_large',
  rateLimit: 'rate_limit_error',
  timeout: 'timeout_error',
  overloaded: 'overloaded_error',
  server: 'api_error',
}

const objectIn = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null ? (value as Json) : undefined

function openAiUsage(body: Json): Usage | undefined {
  const usage = objectIn(body.usage)
  if (usage === undefined) return undefined
  const input = objectIn(usage.prompt_tokens_details ?? usage.input_tokens_details)
  const output = objectIn(usage.completion_tokens_details ?? usage.output_tokens_details)
  return usageFrom({
    input: count(usage.prompt_tokens ?? usage.input_tokens),
    output: count(usage.completion_tokens ?? usage.output_tokens),
    total: count(usage.total_tokens),
    cacheRead: count(input?.cached_tokens),
    cacheWrite: count(input?.cache_write_tokens),
    reasoning: count(output?.reasoning_tokens),
  })
}

/** What was read from the cache or written to it is counted beside the rest there. */
function anthropicUsage(body: Json): Usage | undefined {
  const usage = objectIn(body.usage)
  if (usage === undefined) return undefined
  const cacheRead = count(usage.cache_read_input_tokens)
  const cacheWrite = count(usage.cache_creation_input_tokens)
  return usageFrom({
    input: count(usage.input_tokens) + cacheRead + cacheWrite,
    output: count(usage.output_tokens),
    cacheRead,
    cacheWrite,
  })
}

const RECORDS: readonly Plain[] = [
  {
    name: 'completions',
    endpoints: { 'POST /chat/completions': 'generate', 'GET /models': 'models' },
    usage: openAiUsage,
    inner: (event) => event,
    error: openAiError,
  },
  {
    name: 'responses',
    endpoints: { 'POST /responses': 'generate' },
    usage: openAiUsage,
    inner: (event) => objectIn(event.response),
    error: openAiError,
  },
  {
    name: 'messages',
    endpoints: { 'POST /messages': 'generate', 'POST /messages/count_tokens': 'countTokens' },
    usage: anthropicUsage,
    inner: (event) => objectIn(event.message) ?? event,
    error: ({ type, message, requestId }) => ({
      type: 'error',
      error: { type: ANTHROPIC_ERRORS[type], message },
      ...(requestId === undefined ? {} : { request_id: requestId }),
    }),
  },
  {
    name: 'embeddings',
    endpoints: { 'POST /embeddings': 'embed' },
    usage: openAiUsage,
    inner: (event) => event,
    error: openAiError,
  },
]

export const PLAIN_DIALECTS: readonly Dialect[] = RECORDS.map(dialectFrom)

function dialectFrom(plain: Plain): Dialect {
  const { name, endpoints, usage } = plain
  return {
    name,
    recognize(method, path) {
      const below = path.startsWith('/v1/') ? path.slice(3) : path
      const operation = endpoints[`${method} ${below}`]
      return operation && { dialect: name, operation }
    },
    describe(bytes, _: Endpoint) {
      const body = parse(bytes)
      if (body === undefined) {
        return { ok: false, error: invalidRequest('The body is not a JSON object.') }
      }
      const { model, stream } = body
      if (typeof model !== 'string' || model === '') {
        return { ok: false, error: invalidRequest('`model` must be a string.', 'model') }
      }
      return { ok: true, value: { model, stream: stream === true, body } }
    },
    usageOf: (bytes) => summaryOf(parse(bytes) ?? {}, usage),
    tap: () => new Tap(plain),
    writeError(error) {
      const body = ENCODER.encode(`${JSON.stringify(plain.error(error))}\n`)
      return { status: error.status, headers: errorHeaders(error), body }
    },
    writeStreamError(error) {
      const event = name === 'messages' ? 'event: error\n' : ''
      return ENCODER.encode(`${event}data: ${JSON.stringify(plain.error(error))}\n\n`)
    },
  }
}

/** The same dialect at both ends. */
export function passThrough(dialect: Dialect): Translator {
  return {
    client: dialect.name,
    provider: dialect.name,
    isPassThrough: true,
    translate(bytes, { model }) {
      const read = dialect.describe(bytes, { dialect: dialect.name, operation: 'generate' })
      if (!read.ok) return read
      const { stream, body, model: asked } = read.value
      const isRenamed = model !== undefined && model !== asked
      const sent = isRenamed ? ENCODER.encode(JSON.stringify({ ...body, model })) : bytes
      return {
        ok: true,
        value: {
          request: { path: '', headers: [], body: sent, dropped: [] },
          stream,
          response: (own) => {
            const summary = dialect.usageOf(own)
            return { ok: true, value: { ...summary, headers: [], body: own, dropped: [] } }
          },
          error: (status, _, own) => ({ status, headers: [], body: own }),
          openStream: () => new PassingStream(dialect),
        },
      }
    },
  }
}

class PassingStream {
  readonly headers = []
  readonly dropped = []
  readonly #dialect: Dialect
  readonly #tap: StreamTap

  constructor(dialect: Dialect) {
    this.#dialect = dialect
    this.#tap = dialect.tap()
  }

  get model(): string | undefined {
    return this.#tap.model
  }

  get usage(): Usage | undefined {
    return this.#tap.usage
  }

  get hasOutput(): boolean {
    return this.#tap.hasOutput
  }

  get isComplete(): boolean {
    return this.#tap.isComplete
  }

  push(bytes: Uint8Array): Uint8Array {
    this.#tap.push(bytes)
    return bytes
  }

  end(): Uint8Array {
    this.#tap.end()
    return new Uint8Array()
  }

  abort(error: LlmError): Uint8Array {
    return this.#dialect.writeStreamError(error)
  }
}

/** A line of a stream that is longer has no usage. */
const MAX_LINE = 1024 * 1024

class Tap implements StreamTap {
  hasOutput = false
  isComplete = false
  model: string | undefined = undefined
  usage: Usage | undefined = undefined
  readonly #plain: Plain
  #rest = ''

  constructor(plain: Plain) {
    this.#plain = plain
  }

  push(bytes: Uint8Array): void {
    // Names and numbers are ASCII: characters that are split over pieces do not matter here.
    const lines = `${this.#rest}${DECODER.decode(bytes)}`.split('\n')
    this.#rest = (lines.pop() as string).slice(-MAX_LINE)
    for (const line of lines) this.#line(line)
  }

  end(): void {
    this.#line(this.#rest)
    this.#rest = ''
  }

  #line(line: string): void {
    if (!line.startsWith('data:')) return
    this.hasOutput = true
    if (this.model !== undefined && !line.includes('usage')) return
    let event: unknown
    try {
      event = JSON.parse(line.slice(5))
    } catch {
      return
    }
    const inner = this.#plain.inner(objectIn(event) ?? {}) ?? {}
    const { model, usage } = summaryOf(inner, this.#plain.usage)
    this.model ??= model
    if (usage !== undefined) this.usage = merged(this.usage, usage)
  }
}

/** Anthropic says the input in its first event and the output in its last. */
function merged(before: Usage | undefined, later: Usage): Usage {
  if (before === undefined) return later
  return usageFrom({
    ...later,
    input: Math.max(before.input, later.input),
    cacheRead: Math.max(before.cacheRead, later.cacheRead),
    cacheWrite: Math.max(before.cacheWrite, later.cacheWrite),
    total: 0,
  })
}

function summaryOf(body: Json, usageIn: Plain['usage']): ResponseSummary {
  const { model, id } = body
  return {
    model: typeof model === 'string' ? model : undefined,
    id: typeof id === 'string' ? id : undefined,
    usage: usageIn(body),
  }
}

function parse(bytes: Uint8Array): Json | undefined {
  try {
    const value: unknown = JSON.parse(DECODER.decode(bytes))
    return Array.isArray(value) ? undefined : objectIn(value)
  } catch {
    return undefined
  }
}
