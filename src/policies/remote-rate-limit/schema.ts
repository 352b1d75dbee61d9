import * as z from 'zod'
import { conditionOf, orConditional, toEntry } from '../conditional.ts'
import { choice, duration, expression } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'
import { TARGET_KEYS, targetShape, withTarget } from '../target.ts'

const entry = z.strictObject({
  key: z.string().min(1).max(256).describe('The key, as the service knows it.'),
  value: expression('any').describe(
    'The value. Requests for which it has none, or an error, are counted as one: it is empty.',
  ),
})

const descriptor = z.strictObject({
  entries: z.array(entry).min(1).max(16).describe('What is counted together, in this order.'),
  type: choice('requests', 'tokens')
    .prefault('requests')
    .describe(
      'What is counted: requests, before they go on; or tokens of calls to models, which are ' +
        'reported after the response, so that calls at the same time may exceed the limit.',
    ),
  cost: expression('any', 'log')
    .optional()
    .describe(
      'How much a request counts, a whole number; by default 1. Of `tokens` it is computed after ' +
        'the response, in place of the tokens: `uint(llm.cost.total * 1000000)`. A call for which ' +
        'it has no value counts its tokens.',
    ),
})

const SHAPE = {
  ...targetShape,
  domain: z.string().min(1).max(256).describe('The domain of the limits in the service.'),
  descriptors: z.array(descriptor).min(1).max(16).describe('What is counted.'),
  failureMode: choice('Deny', 'Allow', 'failClosed', 'failOpen')
    .prefault('Deny')
    .transform((mode): 'Deny' | 'Allow' =>
      mode === 'Allow' || mode === 'failOpen' ? 'Allow' : 'Deny',
    )
    .describe(
      'What happens if the service cannot be reached: `Deny` responds with 503, `Allow` allows the request. `failClosed` and `failOpen` mean the same.',
    ),
  timeout: duration().prefault('1s').describe('How long to wait for a response.'),
}

export const plainRemoteRateLimit = oneOfKeys(z.strictObject(SHAPE), TARGET_KEYS)
  .transform(withTarget)
  .describe(
    "Calls a rate limit service that speaks Envoy's protocol, version 3, over gRPC; what is over " +
      'a limit gets 429. It fails closed by default.',
  )

const conditionalEntry = oneOfKeys(
  z.strictObject({ ...conditionOf(true), ...SHAPE }),
  TARGET_KEYS,
).transform(({ condition, ...rest }) => toEntry(condition, withTarget(rest)))

/** An entry of `conditional` applies unless its condition is false. */
export const remoteRateLimit = orConditional(plainRemoteRateLimit, conditionalEntry)

export type RemoteRateLimit = z.output<typeof plainRemoteRateLimit>
export type Descriptor = RemoteRateLimit['descriptors'][number]
