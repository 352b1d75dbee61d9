import * as z from 'zod'
import { choice, duration } from '../scalars.ts'
import { target } from '../target.ts'

export const inferenceRouting = z
  .strictObject({
    endpointPicker: target().describe('The endpoint picker, which speaks gRPC.'),
    failureMode: choice('FailClose', 'FailOpen', 'failClosed', 'failOpen')
      .prefault('FailClose')
      .transform((mode): 'FailClose' | 'FailOpen' =>
        mode === 'FailOpen' || mode === 'failOpen' ? 'FailOpen' : 'FailClose',
      )
      .describe(
        'What happens if the picker cannot be reached, or picks nothing of the backend: ' +
          '`FailClose` responds with 503, `FailOpen` lets the backend choose. `failClosed` and ' +
          '`failOpen` mean the same.',
      ),
    timeout: duration().prefault('5s').describe('How long to wait for the picker.'),
  })
  .describe(
    'Calls an endpoint picker of the Gateway API Inference Extension for the endpoint that ' +
      'gets a request. The picker sees the request with its body, but no credentials, and may ' +
      'change headers and the body; only endpoints that the backend has can be picked.',
  )

export type InferenceRouting = z.output<typeof inferenceRouting>
