import { writeSse } from '../../../sse.ts'
import { describeJson, summarize } from '../../describe.ts'
import { type Dialect, defineDialect, type Operation } from '../../dialect.ts'
import { errorHeaders, type LlmError, type LlmErrorType, type WireError } from '../../error.ts'
import { copyBytes, encodeJson, joinBytes, parseJsonText } from '../../json.ts'
import { type Fields, list, obj, reading, readProviderValue, str } from '../../reading.ts'
import { SseTap, type TapReader, TapState } from '../../stream-tap.ts'
import { readRequest } from './read-request.ts'
import { errorFrom, readError, readResponse, readStream, readUsage } from './response.ts'
import { writeRequest } from './write-request.ts'
import { writeResponse, writeStream } from './write-response.ts'

const OPERATIONS: Readonly<Record<string, Operation | undefined>> = {
  generateContent: 'generate',
  streamGenerateContent: 'generate',
  countTokens: 'countTokens',
  embedContent: 'embed',
  batchEmbedContents: 'embed',
}

/** Google's Gemini, at its own API and at Vertex. */
export const gemini: Dialect = defineDialect({
  name: 'gemini',
  recognize(method, path) {
    if (method === 'GET' && /\/v1(?:alpha|beta)\d*\/models$/.test(path)) {
      return { dialect: 'gemini', operation: 'models' }
    }
    const [, model, call] = /\/models\/([^/:]+):([a-zA-Z]+)$/.exec(path) ?? []
    if (method !== 'POST' || model === undefined || call === undefined) return undefined
    const operation = OPERATIONS[call]
    if (operation === undefined) return undefined
    return { dialect: 'gemini', operation, model, stream: call === 'streamGenerateContent', call }
  },
  pathOf: ({ operation, call, stream }, model) =>
    operation === 'models'
      ? '/models'
      : `/models/${encodeURIComponent(model)}:${call ?? (stream ? 'streamGenerateContent' : 'generateContent')}`,
  describe: describeJson,
  usageOf: (bytes) =>
    bytes[0] === OPEN_LIST
      ? readList(bytes, new TapState())
      : summarize(
          bytes,
          { id: 'responseId', model: 'modelVersion', usage: 'usageMetadata' },
          readUsage,
        ),
  tap: () => new GeminiTap(),
  writeError,
  writeStreamError: (error) => writeSse(JSON.stringify(geminiError(error))),
  client: {
    readRequest: (bytes, context) => reading(() => readRequest(bytes, context)),
    writeResponse,
    writeStream: (request) => writeStream(request, geminiError),
  },
  provider: {
    maxToolName: 64,
    writeRequest: (request, options) => reading(() => writeRequest(request, options)),
    readResponse: (bytes, maker) => reading(() => readResponse(bytes, maker)),
    readStream,
    readError,
  },
})

const WORDS: Readonly<Record<LlmErrorType, string>> = {
  invalidRequest: 'INVALID_ARGUMENT',
  authentication: 'UNAUTHENTICATED',
  billing: 'FAILED_PRECONDITION',
  permission: 'PERMISSION_DENIED',
  notFound: 'NOT_FOUND',
  conflict: 'ABORTED',
  tooLarge: 'INVALID_ARGUMENT',
  rateLimit: 'RESOURCE_EXHAUSTED',
  timeout: 'DEADLINE_EXCEEDED',
  overloaded: 'UNAVAILABLE',
  server: 'INTERNAL',
}

function geminiError({ status, type, message }: LlmError): Fields {
  return { error: { code: status, message, status: WORDS[type] } }
}

function writeError(error: LlmError): WireError {
  const body = encodeJson(geminiError(error))
  return { status: error.status, headers: errorHeaders(error), body }
}

const TAP: TapReader = {
  // Each event has usage and the last one counts, which is known only when the stream ends.
  isOfInterest: () => true,
  read(data, state) {
    if (data['error'] !== undefined) state.error = errorFrom(obj(data['error']), 0)
    state.id ??= str(data['responseId']) || undefined
    state.model ??= str(data['modelVersion']) || undefined
    state.usage = readUsage(data['usageMetadata']) ?? state.usage
    const candidate = obj(list(data['candidates'])[0])
    if (list(obj(candidate['content'])['parts']).length > 0) state.hasOutput = true
    const isBlocked = obj(data['promptFeedback'])['blockReason'] !== undefined
    if (candidate['finishReason'] !== undefined || isBlocked) state.isComplete = true
  },
}

/** Without `alt=sse`, a stream is one JSON list, which is read when it is complete. */
const MAX_LIST = 8 * 1024 * 1024
const OPEN_LIST = 91

function readList(bytes: Uint8Array, state: TapState): TapState {
  const items = list(readProviderValue(bytes) ?? lastOf(bytes))
  for (const item of items) TAP.read(obj(item), state)
  return state
}

/** The last item of a list that is too long to read at once; it has the usage of the whole list. */
function lastOf(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes.subarray(-MAX_LAST))
  const start = text.lastIndexOf('\n,')
  return start < 0 ? [] : parseJsonText(`[${text.slice(start + 2)}`).value
}

const MAX_LAST = 1 << 16

class GeminiTap extends SseTap {
  #isList: boolean | undefined
  #pieces: Uint8Array[] = []
  #size = 0

  constructor() {
    super(TAP)
  }

  override push(bytes: Uint8Array): void {
    this.#isList ??= bytes.length === 0 ? undefined : bytes[0] === OPEN_LIST
    if (this.#isList !== true) {
      super.push(bytes)
      return
    }
    this.hasOutput = true
    this.#size += bytes.length
    if (this.#size <= MAX_LIST) this.#pieces.push(copyBytes(bytes))
  }

  override end(): void {
    if (this.#isList === true && this.#size <= MAX_LIST) readList(joinBytes(this.#pieces), this)
    super.end()
  }
}
