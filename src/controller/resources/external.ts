import * as z from 'zod'
import { tlsValidation } from './cluster-objects.ts'
import { object, port } from './metadata.ts'

/* Objects for services outside the cluster. */

export const X_GATEWAY_API = 'gateway.networking.x-k8s.io'

export const xBackend = object({
  spec: z.strictObject({
    type: z.literal('ExternalHostname'),
    port: z
      .strictObject({
        name: z.string().optional(),
        number: port().optional(),
        /** The name of `number` before v1.7 of the Gateway API. */
        port: port().optional(),
      })
      .transform(({ number, port: old }) => number ?? old)
      .pipe(port()),
    externalHostname: z.strictObject({ hostname: z.string().min(1) }),
    protocol: z.enum(['TCP', 'HTTP', 'HTTP2', 'HTTP11', 'H2C', 'MCP']).optional(),
    tls: z
      .strictObject({
        mode: z.enum(['None', 'ServerOnly', 'ClientAndServer']),
        clientCertificateRef: z
          .strictObject({
            group: z.string().default(''),
            kind: z.string().default('Secret'),
            name: z.string(),
            namespace: z.string().optional(),
          })
          .optional(),
        validation: tlsValidation.optional(),
      })
      .optional(),
  }),
})

export type XBackendObject = z.output<typeof xBackend>
