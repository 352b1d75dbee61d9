import * as z from 'zod'
import { conditionOf, type Entry, orConditional, toEntry } from '../conditional.ts'
import { choice, duration, expression } from '../scalars.ts'
import { issue, oneOfKeys } from '../shapes.ts'
import { TARGET_KEYS, targetShape, withTarget } from '../target.ts'

const headers = (what: string) =>
  choice('send', 'skip').prefault('send').describe(`Whether to send the ${what} to the service.`)
const body = (what: string) =>
  choice('none', 'buffered', 'bufferedPartial', 'fullDuplexStreamed')
    .prefault('fullDuplexStreamed')
    .describe(
      `How to send the body of the ${what} to the service: not at all, complete in one message, or streamed.`,
    )
const trailers = () =>
  choice('send', 'skip')
    .prefault('send')
    .describe('Has no effect: trailers are forwarded, but not sent to the service.')
const computed = (what: string, stage?: 'response') =>
  z.record(z.string().min(1).max(256), expression('any', stage)).prefault({}).describe(what)

const processingOptions = z
  .strictObject({
    requestHeaderMode: headers('request headers'),
    requestBodyMode: body(
      'request (`bufferedPartial`: only the beginning, if it is longer than `maxBufferSize`)',
    ),
    requestTrailerMode: trailers(),
    responseHeaderMode: headers('response headers'),
    responseBodyMode: body('response').check(({ value, issues }) => {
      if (value !== 'bufferedPartial') return
      const message = '`bufferedPartial` is not supported for responses'
      const hint = 'use `buffered`, `fullDuplexStreamed` or `none`'
      issues.push(issue(value, message, { rule: 'unsupported', hint }))
    }),
    responseTrailerMode: trailers(),
    allowModeOverride: z
      .boolean()
      .prefault(false)
      .describe('Whether the service can skip the remaining messages with a mode override.'),
  })
  .transform(({ requestTrailerMode: _, responseTrailerMode: __, ...rest }) => rest)
  .prefault({})
  .describe('What to send to the service.')

const SHAPE = {
  ...targetShape,
  failureMode: choice('failClosed', 'failOpen')
    .prefault('failClosed')
    .describe(
      'What to do if the service is unavailable or sends an invalid message: `failClosed` responds with ' +
        '500, `failOpen` continues without it.',
    ),
  timeout: duration()
    .prefault('5s')
    .describe('How long to wait for each message from the service.'),
  metadataContext: z
    .record(z.string().min(1).max(256), z.record(z.string().min(1).max(256), expression('any')))
    .prefault({})
    .describe('Metadata context of the first message: by namespace and name, as CEL expressions.'),
  requestAttributes: computed('Attributes to send with the request headers.'),
  responseAttributes: computed('Attributes to send with the response headers.', 'response'),
  processingOptions,
}

export const plainExtProc = oneOfKeys(z.strictObject(SHAPE), TARGET_KEYS)
  .transform(withTarget)
  .describe(
    "Lets an external service inspect and change requests and responses, using Envoy's " +
      'ext_proc protocol, version 3. Runs after rules and limits, and fails closed by default.',
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
  // All entries share one response body part.
  if (new Set(modes).size < 2) return
  const message = 'entries with different `responseBodyMode` are not supported'
  const hint = 'set the same `responseBodyMode` in each entry'
  issues.push(issue(value, message, { rule: 'unsupported', hint }, ['conditional']))
})

export type ExtProc = z.output<typeof plainExtProc>

/** How much of the body must be buffered before the policy runs. */
export function bodyProcessed({ processingOptions }: ExtProc): 'whole' | 'beginning' | undefined {
  const { requestBodyMode } = processingOptions
  if (requestBodyMode === 'none') return undefined
  return requestBodyMode === 'bufferedPartial' ? 'beginning' : 'whole'
}
