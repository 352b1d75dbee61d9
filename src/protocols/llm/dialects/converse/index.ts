import { describeJson } from '../../describe.ts'
import { type Dialect, defineDialect, type StreamTap } from '../../dialect.ts'
import { errorHeaders, type LlmError, type LlmErrorType, type WireError } from '../../error.ts'
import { EventStreamReader, writeEventStream } from '../../event-stream.ts'
import { encodeJson } from '../../json.ts'
import { reading, readProviderBody, str } from '../../reading.ts'
import { serverError } from '../../sse-stream.ts'
import { TapState } from '../../stream-tap.ts'
import { errorFrom, readError, readResponse, readStream, readUsage } from './response.ts'
import { writeRequest } from './write-request.ts'

/** Amazon Bedrock's Converse API. */
export const converse: Dialect = defineDialect({
  name: 'converse',
  recognize(method, path) {
    const [, id, call] = /\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path) ?? []
    if (method !== 'POST' || id === undefined) return undefined
    const model = decodeModel(id)
    // A name of dots alone would lead to another path when it is written again.
    if (/^\.+$/.test(model)) return undefined
    return { dialect: 'converse', operation: 'generate', model, stream: call === 'converse-stream' }
  },
  pathOf: ({ stream }, model) =>
    `/model/${encodeURIComponent(model)}/${stream ? 'converse-stream' : 'converse'}`,
  describe: describeJson,
  usageOf: (bytes) => ({ usage: readUsage(readProviderBody(bytes)?.['usage']) }),
  tap: () => new ConverseTap(),
  writeError,
  writeStreamError,
  provider: {
    maxToolName: 64,
    writeRequest: (request, options) => reading(() => writeRequest(request, options)),
    readResponse: (bytes, maker) => reading(() => readResponse(bytes, maker)),
    readStream,
    readError,
  },
})

/** Returns the text as is if it cannot be decoded: rules then see the same as the provider. */
function decodeModel(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const WORDS: Readonly<Record<LlmErrorType, string>> = {
  invalidRequest: 'ValidationException',
  authentication: 'UnrecognizedClientException',
  billing: 'ServiceQuotaExceededException',
  permission: 'AccessDeniedException',
  notFound: 'ResourceNotFoundException',
  conflict: 'ConflictException',
  tooLarge: 'ValidationException',
  rateLimit: 'ThrottlingException',
  timeout: 'ModelTimeoutException',
  overloaded: 'ServiceUnavailableException',
  server: 'InternalServerException',
}

function writeError(error: LlmError): WireError {
  const headers = errorHeaders(error)
  headers.push(['x-amzn-errortype', WORDS[error.type]])
  if (error.requestId !== undefined) headers.push(['x-amzn-requestid', error.requestId])
  return { status: error.status, headers, body: encodeJson({ message: error.message }) }
}

/** The exceptions that a stream can carry. */
const STREAM_WORDS: Partial<Record<LlmErrorType, string>> = {
  invalidRequest: 'validationException',
  rateLimit: 'throttlingException',
  overloaded: 'serviceUnavailableException',
}

function writeStreamError(error: LlmError): Uint8Array {
  const headers = new Map([
    [':message-type', 'exception'],
    [':exception-type', STREAM_WORDS[error.type] ?? 'internalServerException'],
    [':content-type', 'application/json'],
  ])
  return writeEventStream({ headers, payload: encodeJson({ message: error.message }) })
}

class ConverseTap extends TapState implements StreamTap {
  readonly #frames = new EventStreamReader()

  push(bytes: Uint8Array): void {
    for (const { headers, payload } of this.#frames.push(bytes)) {
      const type = headers.get(':event-type')
      if (headers.get(':message-type') !== 'event') {
        const name = headers.get(':exception-type') ?? ''
        this.error = errorFrom(name, str(readProviderBody(payload)?.['message']), 0)
      } else if (type === 'contentBlockDelta') this.hasOutput = true
      else if (type === 'messageStop') this.isComplete = true
      else if (type === 'metadata') {
        this.usage = readUsage(readProviderBody(payload)?.['usage'])
      }
    }
  }

  end(): void {
    if (!this.isComplete) this.error ??= serverError('The provider ended the stream early.')
  }
}
