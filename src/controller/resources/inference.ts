import * as z from 'zod'
import { object, port } from './metadata.ts'

/* Models that run in the cluster: the Gateway API Inference Extension. */

export const INFERENCE = 'inference.networking.k8s.io'

/** The default port of endpoint pickers. */
const PICKER_PORT = 9002

export const inferencePool = object({
  spec: z.strictObject({
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    appProtocol: z.enum(['http', 'kubernetes.io/h2c']).default('http'),
    targetPorts: z.array(z.strictObject({ number: port() })).min(1),
    endpointPickerRef: z
      .strictObject({
        group: z.string().default(''),
        kind: z.string().default('Service'),
        name: z.string().min(1),
        port: z.strictObject({ number: port() }).optional(),
        /** The form in the first versions of the definition. */
        portNumber: port().optional(),
        failureMode: z.enum(['FailOpen', 'FailClose']).default('FailClose'),
      })
      .transform(({ port: own, portNumber, ...rest }) => ({
        ...rest,
        port: own?.number ?? portNumber ?? PICKER_PORT,
      })),
  }),
})

export type InferencePoolObject = z.output<typeof inferencePool>

export const pod = object({
  status: z
    .looseObject({
      podIP: z.string().optional(),
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish(),
    })
    .optional(),
})
