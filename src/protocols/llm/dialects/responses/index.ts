import { describeJson, summarize } from '../../describe.ts'
import { type Dialect, defineDialect } from '../../dialect.ts'
import { obj, reading, str } from '../../reading.ts'
import { SseTap, type TapReader } from '../../stream-tap.ts'
import { errorFrom, readOpenaiError, writeOpenaiError } from '../openai-errors.ts'
import { readRequest } from './read-request.ts'
import { readStream } from './read-stream.ts'
import { readFailure, readResponse, readUsage, writeResponse } from './response.ts'
import { writeRequest } from './write-request.ts'
import { writeStream, writeStreamError } from './write-stream.ts'

/** OpenAI's responses. */
export const responses: Dialect = defineDialect({
  name: 'responses',
  recognize(method, path) {
    if (method !== 'POST' || !/\/responses$/.test(path)) return undefined
    return { dialect: 'responses', operation: 'generate' }
  },
  pathOf: () => '/responses',
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
