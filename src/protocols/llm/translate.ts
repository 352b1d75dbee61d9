import { CompletionText, textsOf } from './completion.ts'
import type {
  Dialect,
  DialectName,
  ParsedBody,
  ProviderHalf,
  Read,
  StreamReader,
  StreamWriter,
} from './dialect.ts'
import { dialectOf } from './dialects/index.ts'
import { invalidRequest, type LlmError } from './error.ts'
import { type Guard, type GuardRule, isRemote } from './guards/guard-rule.ts'
import { guardedError } from './guards/guarded-error.ts'
import { guardPartsLater, HeldReader } from './guards/held-response.ts'
import { EventGuard } from './guards/response-guard.ts'
import { isObject, joinBytes, parseJson } from './json.ts'
import { cutEvent, isLong } from './long-events.ts'
import type { NeutralRequest, NeutralResponse, Part, StreamEvent } from './neutral.ts'
import { passThrough } from './pass-through.ts'
import { ToolNames } from './tool-names.ts'
import type {
  StreamTranslator,
  TranslatedCall,
  TranslatedResponse,
  TranslateOptions,
  Translator,
} from './translator.ts'
import type { Usage } from './usage.ts'

const NO_BYTES = new Uint8Array(0)

/** Undefined if clients of the one dialect cannot be served by providers of the other. */
export function translatorFor(client: DialectName, provider: DialectName): Translator | undefined {
  const from = dialectOf(client)
  const to = dialectOf(provider)
  if (from === to) {
    return {
      client,
      provider,
      isPassThrough: true,
      translate: (bytes, options) => passThrough(from, bytes, options),
    }
  }
  return guardedTranslator(client, provider)
}

/** The same without pass-through: guards must have checked everything a model writes. */
export function guardedTranslator(
  client: DialectName,
  provider: DialectName,
): Translator | undefined {
  const from = dialectOf(client)
  const to = dialectOf(provider)
  if (from.client === undefined || to.provider === undefined) return undefined
  return {
    client,
    provider,
    isPassThrough: false,
    translate: (bytes, options) => translate(from, to.provider as ProviderHalf, bytes, options),
  }
}

function translate(
  from: Dialect,
  to: ProviderHalf,
  bytes: Uint8Array,
  options: TranslateOptions,
): Read<TranslatedCall> {
  if (options.endpoint !== undefined && options.endpoint.operation !== 'generate') {
    const error = invalidRequest('This call cannot be translated for this model.')
    return { ok: false, error: { ...error, status: 404, type: 'notFound' } }
  }
  const now = options.now ?? Math.floor(Date.now() / 1000)
  // A signature without a mark was passed through, by a provider of the client's own dialect.
  const read = from.client?.readRequest(bytes, {
    maker: `unmarked ${from.name}`,
    now,
    parsed: namedBy(options, bytes),
  })
  if (read === undefined || !read.ok) return read as Read<never>
  const neutral = withoutIdleChoice(read.value)
  const names = new ToolNames(neutral, to.maxToolName)
  const written = to.writeRequest(names.fit(neutral), {
    model: options.model ?? neutral.model,
    stream: neutral.stream,
    maker: options.maker,
    maxOutputTokens: options.maxOutputTokens,
  })
  if (!written.ok) return written
  const call = new Call(from, to, neutral, names, options)
  return {
    ok: true,
    value: {
      neutral,
      request: written.value,
      stream: neutral.stream,
      response: (response) => call.response(response),
      ...(call.isGuarded ? { responseLater: (response) => call.responseLater(response) } : {}),
      error: (status, header, response) => {
        // A client cannot act on statuses that are not errors, such as redirects.
        const error = guardedError(to.readError(status, header, response), options.guards ?? [])
        return from.writeError(status >= 400 ? error : { ...error, status: 502, type: 'server' })
      },
      openStream: () => call.openStream(),
    },
  }
}

/** Sets the model that the path names: rules have evaluated it, whatever the body contains. */
function namedBy(
  { endpoint, described }: TranslateOptions,
  bytes: Uint8Array,
): ParsedBody | undefined {
  if (endpoint?.model === undefined) return described?.body
  const body = described?.body ?? parseJson(bytes).value
  if (!isObject(body)) return undefined
  const { model, stream = body['stream'] } = endpoint
  return { ...body, model, ...(stream === undefined ? {} : { stream }) }
}

/** Removes a tool choice if no tool is left, since providers reject it. */
function withoutIdleChoice(request: NeutralRequest): NeutralRequest {
  const { tools, toolChoice, dropped } = request
  if (toolChoice === undefined || tools.length > 0) return request
  const isLost = toolChoice.kind === 'any' || toolChoice.kind === 'tool'
  return {
    ...request,
    toolChoice: undefined,
    dropped: isLost ? [...dropped, 'tool_choice'] : dropped,
  }
}

class Call {
  readonly #from: Dialect
  readonly #to: ProviderHalf
  readonly #neutral: NeutralRequest
  readonly #names: ToolNames
  readonly #maker: string
  readonly #guards: readonly Guard[]
  readonly #keepsCompletion: boolean

  constructor(
    from: Dialect,
    to: ProviderHalf,
    neutral: NeutralRequest,
    names: ToolNames,
    { maker, guards = [], keepsCompletion = false }: TranslateOptions,
  ) {
    this.#from = from
    this.#to = to
    this.#neutral = neutral
    this.#names = names
    this.#maker = maker
    this.#guards = guards
    this.#keepsCompletion = keepsCompletion
  }

  /** True if a guard is a service: no part of a stream is known to be harmless before its end. */
  get waits(): boolean {
    return this.#guards.some(isRemote)
  }

  get isGuarded(): boolean {
    return this.#guards.length > 0
  }

  response(bytes: Uint8Array): Read<TranslatedResponse> {
    const read = this.#read(bytes)
    if (!read.ok) return read
    // Content that must be checked is not sent unchecked.
    if (this.isGuarded) throw new Error('guards must run first')
    return this.#write(read.value, read.value.parts)
  }

  async responseLater(bytes: Uint8Array): Promise<Read<TranslatedResponse>> {
    const read = this.#read(bytes)
    if (!read.ok) return read
    return this.#write(read.value, await guardPartsLater(read.value.parts, this.#guards))
  }

  #read(bytes: Uint8Array): Read<NeutralResponse> {
    const read = this.#to.readResponse(bytes, this.#maker)
    // An error of the provider is not the client's fault.
    if (!read.ok) {
      const error = this.#errorInSuccess(bytes) ?? read.error
      const own = { ...error, status: Math.max(500, error.status) }
      return { ok: false, error: guardedError(own, this.#guards) }
    }
    const parts = this.#names.restoreParts(read.value.parts)
    return { ok: true, value: { ...read.value, parts } }
  }

  /** The error that the provider sent in place of a response, despite a success status. */
  #errorInSuccess(bytes: Uint8Array): LlmError | undefined {
    const error = this.#to.readError(0, () => undefined, bytes)
    return error.message.startsWith('The provider failed with status') ? undefined : error
  }

  #write(read: NeutralResponse, parts: readonly Part[] | LlmError): Read<TranslatedResponse> {
    if ('status' in parts) return { ok: false, error: parts }
    const response = { ...read, parts }
    const written = this.#client().writeResponse(response, this.#neutral)
    const { id, model, usage } = response
    const completion = this.#keepsCompletion ? textsOf(parts) : undefined
    return {
      ok: true,
      value: { ...written, id: id || undefined, model: model || undefined, usage, completion },
    }
  }

  openStream(): StreamTranslator {
    const writer = this.#client().writeStream(this.#neutral)
    const reader = this.#to.readStream(this.#maker)
    const guards = this.#guards
    const written = this.#keepsCompletion ? new CompletionText() : undefined
    const further = { names: this.#names, written }
    if (this.waits) return new TranslatedStream(new HeldReader(reader, guards), writer, further)
    const guard = guards.length === 0 ? undefined : new EventGuard(guards as GuardRule[])
    return new TranslatedStream(reader, writer, { ...further, guard })
  }

  #client(): NonNullable<Dialect['client']> {
    return this.#from.client as NonNullable<Dialect['client']>
  }
}

interface StreamExtras {
  readonly names: ToolNames
  readonly guard?: EventGuard | undefined
  /** Records the text that the client receives. */
  readonly written?: CompletionText | undefined
}

class TranslatedStream implements StreamTranslator {
  id: string | undefined
  model: string | undefined
  usage: Usage | undefined
  hasOutput = false
  isComplete = false
  error: LlmError | undefined
  readonly settle?: () => Promise<Generator<Uint8Array>>
  #hasStarted = false
  readonly #reader: StreamReader
  readonly #writer: StreamWriter
  readonly #names: ToolNames
  readonly #guard: EventGuard | undefined
  readonly #written: CompletionText | undefined

  constructor(reader: StreamReader, writer: StreamWriter, { names, guard, written }: StreamExtras) {
    this.#guard = guard
    this.#written = written
    this.#reader = reader
    this.#writer = writer
    this.#names = names
    if (reader instanceof HeldReader) {
      this.settle = async () => this.#pieces(await reader.settle())
    }
  }

  get completion(): readonly string[] | undefined {
    return this.#written?.texts
  }

  get headers(): StreamWriter['headers'] {
    return this.#writer.headers
  }

  get dropped(): readonly string[] {
    return [...this.#reader.dropped, ...this.#writer.dropped]
  }

  push(bytes: Uint8Array): Uint8Array {
    return this.#write(this.#guarded(this.#reader.push(bytes)))
  }

  take(bytes: Uint8Array): Uint8Array | Generator<Uint8Array> {
    const events = this.#reader.push(bytes)
    return isLong(events) ? this.#pieces(events) : this.#write(this.#guarded(events))
  }

  end(): Uint8Array {
    return this.#write(this.#guarded(this.#reader.end()))
  }

  /** Long events are cut: the pieces are the same text, both to guards and to clients. */
  *#pieces(events: readonly StreamEvent[]): Generator<Uint8Array> {
    for (const event of events) {
      for (const piece of cutEvent(event)) yield this.#write(this.#guarded([piece]))
    }
  }

  #guarded(events: readonly StreamEvent[]): readonly StreamEvent[] {
    return this.#guard === undefined ? events : this.#guard.filter(events)
  }

  abort(error: LlmError): Uint8Array {
    return this.#write([{ kind: 'error', error }])
  }

  #write(events: readonly StreamEvent[]): Uint8Array {
    const pieces: Uint8Array[] = []
    for (const event of events) {
      if (this.isComplete || this.error !== undefined) break
      // The first event of a dialect is fixed and is not a ping.
      if (event.kind === 'ping' && !this.#hasStarted) continue
      this.#note(event)
      this.#written?.add(event)
      const piece = this.#writer.push(this.#names.restoreEvent(event))
      if (piece.length > 0) pieces.push(piece)
    }
    return pieces.length === 0 ? NO_BYTES : joinBytes(pieces)
  }

  #note(event: StreamEvent): void {
    switch (event.kind) {
      case 'start':
        this.#hasStarted = true
        this.id = event.id || undefined
        this.model = event.model || undefined
        this.usage = event.usage
        return
      case 'delta':
        this.hasOutput = true
        return
      case 'usage':
        this.usage = event.usage
        return
      case 'error':
        this.error = event.error
        return
      case 'end':
        this.isComplete = true
    }
  }
}
