import { describeJson, summarize } from '../describe.ts'
import { type Dialect, defineDialect } from '../dialect.ts'
import { NoTap } from '../stream-tap.ts'
import { readUsage } from './completions/response.ts'
import { writeStreamError } from './completions/write-stream.ts'
import { writeOpenaiError } from './openai-errors.ts'

/** OpenAI's embeddings: passed through, never translated: vectors of two models do not compare. */
export const embeddings: Dialect = defineDialect({
  name: 'embeddings',
  recognize(method, path) {
    if (method !== 'POST' || !/\/embeddings$/.test(path)) return undefined
    return { dialect: 'embeddings', operation: 'embed', stream: false }
  },
  pathOf: () => '/embeddings',
  describe: describeJson,
  usageOf: (bytes) => summarize(bytes, { model: 'model', usage: 'usage' }, readUsage),
  tap: () => new NoTap(),
  writeError: writeOpenaiError,
  writeStreamError,
})
