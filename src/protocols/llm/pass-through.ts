import { CompletionTap, completionOf } from './completion.ts'
import type { Dialect, DialectName, Read, StreamTap } from './dialect.ts'
import { isSealedByMark } from './dialects/gemini/sealed.ts'
import { invalidRequest, type LlmError } from './error.ts'
import type { FormBody } from './form-body.ts'
import { generalError, guardedErrorBody } from './guards/guarded-error.ts'
import { encodeJson, isObject, joinBytes, parseJson, setMembers } from './json.ts'
import { type Fields, list, obj } from './reading.ts'
import { isMarked } from './signatures.ts'
import { editRequest, editResponse } from './state/state-edits.ts'
import { isJson, StateStream } from './state/state-stream.ts'
import type { StateMaps, StreamTranslator, TranslatedCall, TranslateOptions } from './translator.ts'
import { UsageEventFilter } from './usage-event-filter.ts'

const NO_BYTES = new Uint8Array(0)

/** Dialects whose bodies name the model even if the client's path does: Azure's deployments. */
const NAMED_IN_BODIES: ReadonlySet<DialectName> = new Set(['completions', 'other'])

/** Both ends speak one dialect: bytes are passed through, and changes are made in place. */
export function passThrough(
  dialect: Dialect,
  bytes: Uint8Array,
  options: TranslateOptions,
): Read<TranslatedCall> {
  const endpoint = options.endpoint ?? { dialect: dialect.name, operation: 'generate' }
  const read = options.described ?? dialect.describe(bytes, endpoint)
  if ('ok' in read && !read.ok) return read
  const { model: asked, stream, body } = 'ok' in read ? read.value : read
  const model = options.model ?? asked
  const changes: Record<string, unknown> = {}
  // The path may name the model that rules evaluate, while the provider uses the body.
  const isOther =
    endpoint.model === undefined
      ? model !== asked
      : NAMED_IN_BODIES.has(dialect.name) && model !== body['model']
  if (isOther) changes['model'] = model
  // Without it, a stream does not report its usage; the event is removed for clients that did not
  // request it.
  const hidesUsage = dialect.name === 'completions' && stream && !requestsUsage(body)
  if (hidesUsage) {
    const given = body['stream_options'] ?? {}
    if (!isObject(given)) {
      const error = invalidRequest('`stream_options` must be an object.', 'stream_options')
      return { ok: false, error }
    }
    changes['stream_options'] = { ...given, include_usage: true }
  }
  const { state, keepsCompletion = false, guards = [] } = options
  const written = keepsCompletion
    ? (response: Uint8Array) => completionOf(dialect, response)
    : undefined
  const sent = options.form
    ? sentForm(options.form, bytes, isOther ? model : undefined)
    : sentJson(bytes, state, changes, body)
  if ('status' in sent) return { ok: false, error: sent }
  return {
    ok: true,
    value: {
      request: {
        path: state?.path ?? dialect.pathOf(endpoint, model),
        headers: bytes.length === 0 || options.form ? [] : [['content-type', 'application/json']],
        body: sent.bytes,
        dropped: sent.dropped,
      },
      stream,
      response: (response) => ({
        ok: true,
        value: {
          ...dialect.usageOf(response),
          completion: written?.(response),
          headers: [],
          body: state === undefined ? response : forClient(response, state),
          dropped: [],
        },
      }),
      completionOf: written,
      guardsErrors: guards.length > 0,
      error: (status, header, response) => {
        const type = header('content-type') ?? 'application/json'
        const body = guardedErrorBody(response, guards)
        if (body === undefined) return dialect.writeError(generalError({ status }))
        return { status, headers: [['content-type', type]], body }
      },
      openStream: () => new PassingStream(dialect, hidesUsage, state, keepsCompletion),
    },
  }
}

interface SentBytes {
  readonly bytes: Uint8Array
  readonly dropped: readonly string[]
}

function sentJson(
  bytes: Uint8Array,
  state: StateMaps | undefined,
  changes: Fields,
  body: Fields,
): SentBytes {
  const named = state?.hasIds === true ? editBytes(bytes, state.toProvider, editRequest) : bytes
  const unsigned = withoutForeignSignatures(named)
  if (Object.keys(changes).length === 0) return unsigned
  return { ...unsigned, bytes: setMembers(unsigned.bytes, changes, body) }
}

/** If `model` is undefined, the client's name is kept. */
function sentForm(
  form: FormBody,
  bytes: Uint8Array,
  model: string | undefined,
): SentBytes | LlmError {
  const written = model === undefined ? bytes : form.withModel(model)
  if (written !== undefined) return { bytes: written, dropped: [] }
  return invalidRequest('The model of this call cannot be written into its form.', 'model')
}

/** A body that is not JSON, such as a file, has no IDs. */
function forClient(bytes: Uint8Array, { toClient }: StateMaps): Uint8Array {
  return isJson(Buffer.from(bytes).toString('utf8'))
    ? editBytes(bytes, toClient, editResponse)
    : bytes
}

function editBytes(
  bytes: Uint8Array,
  map: StateMaps['toClient'],
  edit: typeof editRequest,
): Uint8Array {
  const text = Buffer.from(bytes).toString('utf8')
  const edited = edit(text, map)
  return edited === text ? bytes : Buffer.from(edited)
}

function requestsUsage(body: Fields): boolean {
  return obj(body['stream_options'])['include_usage'] === true
}

const MARK = 'portcullis.'
/** The same in base64, in which Gemini's clients have signatures. */
const SEALED_MARK = 'cG9ydGN1bGxpcy'

/**
 * Removes reasoning that another provider signed, which the client received through a translation:
 * this provider would reject the request because of it. Only requests that may contain any are
 * parsed again.
 */
function withoutForeignSignatures(bytes: Uint8Array): SentBytes {
  const { buffer, byteOffset, byteLength } = bytes
  const own = Buffer.from(buffer, byteOffset, byteLength)
  if (!own.includes(MARK) && !own.includes(SEALED_MARK)) return { bytes, dropped: [] }
  const { value } = parseJson(bytes)
  if (!isObject(value)) return { bytes, dropped: [] }
  const isForeign = (block: unknown): boolean => {
    const { type, signature, data, encrypted_content } = obj(block)
    if (type === 'thinking') return isMarked(signature)
    if (type === 'redacted_thinking') return isMarked(data)
    return type === 'reasoning' && isMarked(encrypted_content)
  }
  let dropped = 0
  const keep = (blocks: readonly unknown[]): readonly unknown[] => {
    const kept = blocks.filter((block) => !isForeign(block))
    dropped += blocks.length - kept.length
    return kept
  }
  const changes: Record<string, unknown> = {}
  if (Array.isArray(value['contents'])) {
    changes['contents'] = value['contents'].map((content) => {
      const { parts } = obj(content)
      if (!Array.isArray(parts)) return content
      const unsigned = parts.map((part) => {
        const { thoughtSignature, ...others } = obj(part)
        if (!isSealedByMark(thoughtSignature)) return part
        dropped++
        return others
      })
      return { ...obj(content), parts: unsigned }
    })
  }
  if (Array.isArray(value['input'])) changes['input'] = keep(value['input'])
  if (Array.isArray(value['messages'])) {
    const messages = list(value['messages']).map((message) => {
      const content = obj(message)['content']
      return Array.isArray(content) ? { ...obj(message), content: keep(content) } : message
    })
    changes['messages'] = messages.filter(
      (message) =>
        list(obj(message)['content']).length > 0 || !Array.isArray(obj(message)['content']),
    )
  }
  if (dropped === 0) return { bytes, dropped: [] }
  return { bytes: encodeJson({ ...value, ...changes }), dropped: ['reasoning of earlier turns'] }
}

class PassingStream implements StreamTranslator {
  readonly headers = []
  readonly dropped = []
  readonly #dialect: Dialect
  readonly #tap: StreamTap
  readonly #filter: UsageEventFilter | StateStream | undefined
  readonly #completion: CompletionTap | undefined

  constructor(
    dialect: Dialect,
    hidesUsage: boolean,
    state: StateMaps | undefined,
    keepsCompletion: boolean,
  ) {
    this.#dialect = dialect
    this.#tap = dialect.tap()
    this.#completion = keepsCompletion ? new CompletionTap(dialect) : undefined
    if (hidesUsage) this.#filter = new UsageEventFilter()
    else this.#filter = state && new StateStream(state.toClient)
  }

  get model(): string | undefined {
    return this.#tap.model
  }

  get id(): string | undefined {
    return this.#tap.id
  }

  get usage(): StreamTap['usage'] {
    return this.#tap.usage
  }

  get completion(): readonly string[] | undefined {
    return this.#completion?.texts
  }

  get hasOutput(): boolean {
    return this.#tap.hasOutput
  }

  get isComplete(): boolean {
    return this.#tap.isComplete
  }

  get error(): LlmError | undefined {
    return this.#tap.error
  }

  push(bytes: Uint8Array): Uint8Array {
    this.#completion?.push(bytes)
    if (this.#mayPass && this.#tap.isIdle?.(bytes) === true) return bytes
    this.#tap.push(bytes)
    return this.#filter === undefined ? bytes : this.#filter.push(bytes)
  }

  /** True if events that are not of interest would be neither removed nor changed. */
  get #mayPass(): boolean {
    const filter = this.#filter
    return filter === undefined || (filter instanceof UsageEventFilter && filter.isBetweenEvents)
  }

  /** Omitted events are not added: the end of the body shows that the stream is broken. */
  end(): Uint8Array {
    this.#tap.end()
    return this.#filter?.end() ?? NO_BYTES
  }

  abort(error: LlmError): Uint8Array {
    // End a line that was begun, so that the error is a separate event.
    const rest = this.#filter?.end() ?? NO_BYTES
    const isText = this.#dialect.name !== 'converse'
    const gap = isText ? new TextEncoder().encode('\n\n') : NO_BYTES
    return joinBytes([rest, gap, this.#dialect.writeStreamError(error)])
  }
}
