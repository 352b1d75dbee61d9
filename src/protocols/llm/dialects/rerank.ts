import { describeJson } from '../describe.ts'
import { type Dialect, defineDialect } from '../dialect.ts'
import { glanceAtBody, obj, str } from '../reading.ts'
import { NoTap } from '../stream-tap.ts'
import { count, type Usage, usageFrom } from '../usage.ts'
import { writeStreamError } from './completions/write-stream.ts'
import { writeOpenaiError } from './openai-errors.ts'

/** Cohere's rerank, which others offer too: passed through, never translated. */
export const rerank: Dialect = defineDialect({
  name: 'rerank',
  recognize(method, path) {
    if (method !== 'POST' || !/\/v[12]\/rerank$/.test(path)) return undefined
    return { dialect: 'rerank', operation: 'rerank', stream: false }
  },
  pathOf: () => '/rerank',
  describe: describeJson,
  usageOf(bytes) {
    const body = glanceAtBody(bytes) ?? {}
    return {
      id: str(body['id']) || undefined,
      model: str(body['model']) || undefined,
      usage: readUsage(obj(body['meta'])['tokens']) ?? readUsage(body['usage']),
    }
  },
  tap: () => new NoTap(),
  writeError: writeOpenaiError,
  writeStreamError,
})

/** Reads `meta.tokens` of Cohere, or `usage` of others, which report a single number. */
function readUsage(value: unknown): Usage | undefined {
  const { input_tokens, output_tokens, total_tokens } = obj(value)
  const input = input_tokens ?? total_tokens
  if (typeof input !== 'number') return undefined
  return usageFrom({ input, output: count(output_tokens) })
}
