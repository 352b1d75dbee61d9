import * as z from 'zod'
import { conditionOf, type Entry, orConditional, toEntry } from '../conditional.ts'
import { choice, duration, expression } from '../scalars.ts'
import { issue, oneOfKeys } from '../shapes.ts'
import { TARGET_KEYS, targetShape, withTarget } from '../target.ts'

const headers = (what: string) =>
  choice('send', 'skip').prefault('send').describe(`Whether the service gets the ${what}.`)
const body = (what: string) =>
  choice('none', 'buffered', 'bufferedPartial', 'fullDuplexStreamed')
    .prefault('fullDuplexStreamed')
    .describe(
      `How the service gets the body of the ${what}: not at all, whole in one message, or in pieces.`,
    )
const trailers = () =>
  choice('send', 'skip')
    .prefault('send')
    .describe('Changes nothing: trailers pass, and the service does not get them.')
const computed = (what: string, stage?: 'response') =>
  z.record(z.string().min(1).max(256), expression('any', stage)).prefault({}).describe(what)

const processingOptions = z
  .strictObject({
    requestHeaderMode: headers('head of the request'),
    requestBodyMode: body(
      'request (`bufferedPartial`: its beginning, if it is longer than `maxBufferSize`)',
    ),
    requestTrailerMode: trailers(),
    responseHeaderMode: headers('head of the response'),
    responseBodyMode: body('response').check(({ value, issues }) => {
      if (value !== 'bufferedPartial') return
      const message = '`bufferedPartial` is not supported for responses'
      const hint = 'write `buffered`, `fullDuplexStreamed` or `none`'
      issues.push(issue(value, message, { rule: 'unsupported', hint }))
    }),
    responseTrailerMode: trailers(),
    allowModeOverride: z
      .boolean()
      .prefault(false)
      .describe('Whether the service may say that it does not want what would follow.'),
  })
  .transform(({ requestTrailerMode: _, responseTrailerMode: __, ...rest }) => rest)
  .prefault({})
  .describe('What the service gets.')

const SHAPE = {
  ...targetShape,
  failureMode: choice('failClosed', 'failOpen')
    .prefault('failClosed')
    .describe(
      'What happens if the service cannot be reached or understood: `failClosed` responds with ' +
        '500, `failOpen` goes on without it.',
    ),
  timeout: duration().prefault('5s').describe('How long to wait for each message of the service.'),
  metadataContext: z
    .record(z.string().min(1).max(256), z.record(z.string().min(1).max(256), expression('any')))
    .prefault({})
    .describe('Metadata context of the first message: by namespace and name, by expression.'),
  requestAttributes: computed('Attributes of the message with the head of the request.'),
  responseAttributes: computed('The same of the response.', 'response'),
  processingOptions,
}

export const plainExtProc = oneOfKeys(z.strictObject(SHAPE), TARGET_KEYS)
  .transform(withTarget)
  .describe(
    "Has a service of your own look at requests and responses and change them, by Envoy's " +
      'ext_proc protocol, version 3. It runs after rules and limits, and fails closed by default.',
  )

const entry = oneOfKeys(z.strictObject({ ...conditionOf(true), ...SHAPE }), TARGET_KEYS).transform(
  ({ condition, ...rest }) => toEntry(condition, withTarget(rest)),
)

/** An entry of `conditional` applies unless its condition is false. */
export const extProc = orConditional(plainExtProc, entry).check(({ value, issues }) => {
  if (!('conditional' in value)) return
  const modes = (value.conditional as readonly Entry<ExtProc>[]).map(
    (one) => one.value.processingOptions.responseBodyMode,
  )
  // One place on the way back is made for all of them.
  if (new Set(modes).size < 2) return
  const message = 'entries with different `responseBodyMode` are not supported'
  const hint = 'write the same `responseBodyMode` in each'
  issues.push(issue(value, message, { rule: 'unsupported', hint }, ['conditional']))
})

export type ExtProc = z.output<typeof plainExtProc>

/** What must be there of the body before it runs. */
export function bodyProcessed({ processingOptions }: ExtProc): 'whole' | 'beginning' | undefined {
  const { requestBodyMode } = processingOptions
  if (requestBodyMode === 'none') return undefined
  return requestBodyMode === 'bufferedPartial' ? 'beginning' : 'whole'
}
