import { describeJson, summarize } from '../../describe.ts'
import { type Dialect, defineDialect, type Endpoint } from '../../dialect.ts'
import { obj, reading, str } from '../../reading.ts'
import { readStatePath } from '../../state/state-paths.ts'
import { SseTap, type TapReader } from '../../stream-tap.ts'
import { errorFrom, readOpenaiError, writeOpenaiError } from '../openai-errors.ts'
import { readRequest } from './read-request.ts'
import { readStream } from './read-stream.ts'
import { readFailure, readResponse, readUsage, writeResponse } from './response.ts'
import { writeRequest } from './write-request.ts'
import { writeStream, writeStreamError } from './write-stream.ts'

/** OpenAI's Responses API. */
export const responses: Dialect = defineDialect({
  name: 'responses',
  recognize(method, path) {
    const dialect = 'responses'
    const [, call] = (method === 'POST' && CALL.exec(path)) || []
    if (call !== undefined) return { dialect, operation: 'generate', ...CALLS[call] }
    const state = readStatePath(method, path)
    if (state === undefined) return undefined
    return { dialect, operation: 'state', ...(state === 'unknown' ? {} : { state }) }
  },
  pathOf: ({ call }) => (call === undefined ? '/responses' : `/responses/${call}`),
  describe: describeJson,
  usageOf: (bytes) => summarize(bytes, { id: 'id', model: 'model', usage: 'usage' }, readUsage),
  tap: () => new SseTap(TAP),
  writeError: writeOpenaiError,
  writeStreamError,
  client: {
    readRequest: (bytes, context) => reading(() => readRequest(bytes, context)),
    writeResponse,
    writeStream,
  },
  provider: {
    maxToolName: 64,
    writeRequest: (request, options) => reading(() => writeRequest(request, options)),
    readResponse: (bytes, maker) => reading(() => readResponse(bytes, maker)),
    readStream,
    readError: readOpenaiError,
  },
})

const CALL = /\/(responses(?:\/compact|\/input_tokens)?)$/

const CALLS: Readonly<Record<string, Pick<Endpoint, 'operation' | 'call' | 'stream'>>> = {
  'responses/compact': { operation: 'compact', call: 'compact', stream: false },
  'responses/input_tokens': { operation: 'countTokens', call: 'input_tokens', stream: false },
}

const TAP: TapReader = {
  isOfInterest(data, event, state) {
    if (event.endsWith('.delta')) {
      state.hasOutput = true
      return false
    }
    if (event === '')
      return state.id === undefined || /"type"\s*:\s*"(response\.[cif]|error)/.test(data)
    return /^(response\.(created|completed|incomplete|failed)|error)$/.test(event)
  },
  read(data, state) {
    const response = obj(data['response'])
    state.id ??= str(response['id']) || undefined
    state.model = str(response['model']) || state.model
    state.usage = readUsage(response['usage']) ?? state.usage
    const type = str(data['type'])
    if (type === 'response.completed' || type === 'response.incomplete') state.isComplete = true
    else if (type === 'response.failed') state.error = readFailure(response) ?? errorFrom({}, 0)
    else if (type === 'error')
      state.error = errorFrom('error' in data ? obj(data['error']) : data, 0)
  },
}
