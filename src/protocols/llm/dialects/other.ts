import { describeJson, summarize } from '../describe.ts'
import { type Dialect, defineDialect } from '../dialect.ts'
import { NoTap } from '../stream-tap.ts'
import type { Usage } from '../usage.ts'
import { readUsage as readCompletionsUsage } from './completions/response.ts'
import { writeStreamError } from './completions/write-stream.ts'
import { writeOpenaiError } from './openai-errors.ts'
import { readUsage as readResponsesUsage } from './responses/response.ts'

const PATH =
  /(?:\/deployments\/([^/]+))?(\/(?:completions|moderations|images\/(?:generations|edits|variations)|audio\/(?:speech|transcriptions|translations)|videos))$/

/**
 * Other OpenAI endpoints whose body is JSON or a form with a model in it: images, speech,
 * transcription, moderation and legacy completions. They are passed through and never translated;
 * their responses are often not text.
 */
export const other: Dialect = defineDialect({
  name: 'other',
  recognize(method, path) {
    const [, deployment, call] = PATH.exec(path) ?? []
    if (method !== 'POST' || call === undefined) return undefined
    const model = deployment === undefined ? {} : { model: deployment }
    return { dialect: 'other', operation: 'other', call, ...model }
  },
  pathOf: ({ call = '' }) => call,
  describe: describeJson,
  usageOf: (bytes) => summarize(bytes, { model: 'model', usage: 'usage' }, readUsage),
  tap: () => new NoTap(),
  writeError: writeOpenaiError,
  writeStreamError,
})

function readUsage(value: unknown): Usage | undefined {
  return readCompletionsUsage(value) ?? readResponsesUsage(value)
}
