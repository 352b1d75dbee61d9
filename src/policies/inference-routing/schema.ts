import * as z from 'zod'
import { choice, duration } from '../scalars.ts'
import { target } from '../target.ts'

export const inferenceRouting = z
  .strictObject({
    endpointPicker: target().describe('The endpoint picker. It must use gRPC.'),
    failureMode: choice('FailClose', 'FailOpen', 'failClosed', 'failOpen')
      .prefault('FailClose')
      .transform((mode): 'FailClose' | 'FailOpen' =>
        mode === 'FailOpen' || mode === 'failOpen' ? 'FailOpen' : 'FailClose',
      )
      .describe(
        'What to do if the picker is unavailable or picks no endpoint of the backend: ' +
          '`FailClose` responds with 503, `FailOpen` falls back to load balancing. `failClosed` and ' +
          '`failOpen` are aliases.',
      ),
    timeout: duration().prefault('5s').describe('The timeout of calls to the picker.'),
  })
  .describe(
    'Calls an endpoint picker of the Gateway API Inference Extension to choose the endpoint ' +
      'for each request. The picker sees the request and its body, but no credentials, and can ' +
      'change headers and the body. It can only pick endpoints of the backend.',
  )

export type InferenceRouting = z.output<typeof inferenceRouting>
