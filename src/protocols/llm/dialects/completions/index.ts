import { describeJson, summarize } from '../../describe.ts'
import { type Dialect, defineDialect } from '../../dialect.ts'
import { list, obj, reading, readProviderBody, str } from '../../reading.ts'
import { SseTap, type TapReader } from '../../stream-tap.ts'
import { errorFrom, readOpenaiError, writeOpenaiError } from '../openai-errors.ts'
import { readRequest } from './read-request.ts'
import { readStream } from './read-stream.ts'
import { contentText, readResponse, readUsage, writeResponse } from './response.ts'
import { writeRequest } from './write-request.ts'
import { writeStream, writeStreamError } from './write-stream.ts'

/** OpenAI's Chat Completions, and the many compatible APIs. */
export const completions: Dialect = defineDialect({
  name: 'completions',
  recognize(method, path) {
    if (method === 'GET' && /\/models$/.test(path)) {
      return { dialect: 'completions', operation: 'models' }
    }
    if (method !== 'POST' || !/\/chat\/completions$/.test(path)) return undefined
    // Azure names the deployment in the path.
    const deployment = /\/deployments\/([^/]+)\/chat\/completions$/.exec(path)?.[1]
    const model = deployment === undefined ? {} : { model: deployment }
    return { dialect: 'completions', operation: 'generate', ...model }
  },
  pathOf: ({ operation }) => (operation === 'models' ? '/models' : '/chat/completions'),
  describe: describeJson,
  usageOf: (bytes) => summarize(bytes, { id: 'id', model: 'model', usage: 'usage' }, readUsage),
  tap: () => new SseTap(TAP),
  choicesOf: (bytes) => list(readProviderBody(bytes)?.['choices']).map(choiceText),
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
    readResponse: (bytes) => reading(() => readResponse(bytes)),
    readStream,
    readError: readOpenaiError,
  },
})

function choiceText(choice: unknown): string {
  const message = obj(obj(choice)['message'])
  return contentText(message['content']) || str(message['refusal'])
}

/** OpenAI sends `"usage": null` in every chunk until the usage is known. */
const MAY_INTEREST = /"usage"(?!\s*:\s*null)|"error"(?!\s*:\s*null)|\[DONE\]/

const TAP: TapReader = {
  isOfInterest(data, _event, state) {
    if (!state.hasOutput || state.id === undefined || data === '[DONE]') return true
    return /"usage"\s*:\s*\{|"error"\s*:/.test(data)
  },
  isIdle: (text, state) => state.hasOutput && state.id !== undefined && !MAY_INTEREST.test(text),
  read(chunk, state) {
    state.id ??= str(chunk['id'])
    state.model ??= str(chunk['model']) || undefined
    state.usage = readUsage(chunk['usage']) ?? state.usage
    if (chunk['error'] !== undefined && chunk['error'] !== null) {
      state.error = errorFrom(obj(chunk['error']), 0)
    }
    for (const choice of list(chunk['choices'])) {
      const { content, tool_calls, refusal, reasoning_content } = obj(obj(choice)['delta'])
      if (content || tool_calls || refusal || reasoning_content) state.hasOutput = true
    }
  },
  word(data, state) {
    if (data === '[DONE]') state.isComplete = true
  },
}
