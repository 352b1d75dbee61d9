import { describeJson, summarize } from '../../describe.ts'
import { type Dialect, defineDialect } from '../../dialect.ts'
import { obj, reading, str } from '../../reading.ts'
import { SseTap, type TapReader } from '../../stream-tap.ts'
import { anthropicErrorFrom, readError, writeError } from './errors.ts'
import { readRequest } from './read-request.ts'
import { readStream } from './read-stream.ts'
import { mergeUsage, readResponse, readUsage, writeResponse } from './response.ts'
import { writeRequest } from './write-request.ts'
import { writeStream, writeStreamError } from './write-stream.ts'

/** Anthropic's Messages API. */
export const messages: Dialect = defineDialect({
  name: 'messages',
  recognize(method, path) {
    // OpenAI's threads also have messages, which are something else.
    if (method !== 'POST' || /\/threads\//.test(path)) return undefined
    if (/\/messages\/count_tokens$/.test(path)) {
      return { dialect: 'messages', operation: 'countTokens', stream: false }
    }
    return /\/messages$/.test(path) ? { dialect: 'messages', operation: 'generate' } : undefined
  },
  pathOf: ({ operation }) => (operation === 'countTokens' ? '/messages/count_tokens' : '/messages'),
  describe: describeJson,
  usageOf: (bytes) => summarize(bytes, { id: 'id', model: 'model', usage: 'usage' }, readUsage),
  tap: () => new SseTap(TAP),
  writeError,
  writeStreamError,
  client: {
    readRequest: (bytes, context) => reading(() => readRequest(bytes, context)),
    writeResponse,
    writeStream,
  },
  provider: {
    maxToolName: 128,
    writeRequest: (request, options) => reading(() => writeRequest(request, options)),
    readResponse: (bytes, maker) => reading(() => readResponse(bytes, maker)),
    readStream,
    readError,
  },
})

const OF_INTEREST = /^(message_start|message_delta|message_stop|error)$/

const MAY_INTEREST = /message_|error/

const TAP: TapReader = {
  isOfInterest(data, event, state) {
    if (event === 'content_block_delta') {
      state.hasOutput = true
      return false
    }
    return event === '' ? !data.includes('content_block') : OF_INTEREST.test(event)
  },
  isIdle: (text, state) => state.hasOutput && !MAY_INTEREST.test(text),
  read(data, state) {
    switch (data['type']) {
      case 'message_start': {
        const message = obj(data['message'])
        state.id = str(message['id']) || undefined
        state.model = str(message['model']) || undefined
        state.usage = readUsage(message['usage'])
        return
      }
      case 'message_delta': {
        const usage = readUsage(data['usage'])
        if (usage !== undefined) state.usage = mergeUsage(state.usage, usage)
        return
      }
      case 'message_stop':
        state.isComplete = true
        return
      case 'error':
        state.error = anthropicErrorFrom(obj(data['error']), 0)
    }
  },
}
