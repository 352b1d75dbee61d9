import * as z from 'zod'
import { conditionOf, orConditional, toEntry } from '../conditional.ts'
import { choice, duration, expression } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'
import { TARGET_KEYS, targetShape, withTarget } from '../target.ts'

const entry = z.strictObject({
  key: z.string().min(1).max(256).describe('The key of the entry, as configured in the service.'),
  value: expression('any').describe(
    'The value of the entry. Requests without a value, or for which the expression fails, are counted together with an empty value.',
  ),
})

const descriptor = z.strictObject({
  entries: z.array(entry).min(1).max(16).describe('The entries of the descriptor, in order.'),
  type: choice('requests', 'tokens')
    .prefault('requests')
    .describe(
      'What to count: requests, before they are forwarded, or tokens of model calls, which are ' +
        'reported after the response, so concurrent calls can exceed the limit.',
    ),
  cost: expression('any', 'log')
    .optional()
    .describe(
      'The cost of a request, an integer. Default: 1. For `tokens`, it is computed after ' +
        'the response and replaces the number of tokens: `uint(llm.cost.total * 1000000)`. If it ' +
        'has no value, the tokens are counted.',
    ),
})

const SHAPE = {
  ...targetShape,
  domain: z.string().min(1).max(256).describe('The rate limit domain.'),
  descriptors: z.array(descriptor).min(1).max(16).describe('The descriptors to send.'),
  failureMode: choice('Deny', 'Allow', 'failClosed', 'failOpen')
    .prefault('Deny')
    .transform((mode): 'Deny' | 'Allow' =>
      mode === 'Allow' || mode === 'failOpen' ? 'Allow' : 'Deny',
    )
    .describe(
      'What to do if the service is unavailable: `Deny` responds with 503, `Allow` allows the request. `failClosed` and `failOpen` are aliases.',
    ),
  timeout: duration().prefault('1s').describe('The timeout of calls to the service.'),
}

export const plainRemoteRateLimit = oneOfKeys(z.strictObject(SHAPE), TARGET_KEYS)
  .transform(withTarget)
  .describe(
    "Calls a rate limit service with Envoy's protocol, version 3, over gRPC. Requests over " +
      'a limit get 429. Fails closed by default.',
  )

const conditionalEntry = oneOfKeys(
  z.strictObject({ ...conditionOf(true), ...SHAPE }),
  TARGET_KEYS,
).transform(({ condition, ...rest }) => toEntry(condition, withTarget(rest)))

/** An entry of `conditional` applies unless its condition is false. */
export const remoteRateLimit = orConditional(plainRemoteRateLimit, conditionalEntry)

export type RemoteRateLimit = z.output<typeof plainRemoteRateLimit>
export type Descriptor = RemoteRateLimit['descriptors'][number]
