import * as z from 'zod'
import { object, port } from './metadata.ts'

/* What is outside the cluster, or beside its Services. */

export const X_GATEWAY_API = 'gateway.networking.x-k8s.io'
export const ISTIO = 'networking.istio.io'

export const xBackend = object({
  spec: z.strictObject({
    type: z.literal('ExternalHostname'),
    port: z.strictObject({ name: z.string().optional(), port: port() }),
    externalHostname: z.strictObject({ hostname: z.string().min(1) }),
    protocol: z.enum(['TCP', 'HTTP', 'HTTP2', 'HTTP11', 'H2C', 'MCP']).optional(),
    tls: z
      .strictObject({
        mode: z.enum(['None', 'ServerOnly', 'ClientAndServer']),
        clientCertificateRef: z
          .looseObject({
            group: z.string().default(''),
            kind: z.string().default('Secret'),
            name: z.string(),
            namespace: z.string().optional(),
          })
          .optional(),
        validation: z
          .strictObject({
            caCertificateRefs: z
              .array(z.looseObject({ group: z.string(), kind: z.string(), name: z.string() }))
              .default([]),
            wellKnownCACertificates: z.string().optional(),
            hostname: z.string(),
            subjectAltNames: z
              .array(
                z.strictObject({
                  type: z.enum(['Hostname', 'URI']),
                  hostname: z.string().optional(),
                  uri: z.string().optional(),
                }),
              )
              .default([]),
          })
          .optional(),
      })
      .optional(),
  }),
})

export type XBackendObject = z.output<typeof xBackend>

const ports = z.record(z.string(), z.int()).default({})
const labels = z.record(z.string(), z.string()).default({})

const workload = z.looseObject({ address: z.string().optional(), ports, labels })

export const serviceEntry = object({
  spec: z.looseObject({
    hosts: z.array(z.string()).min(1),
    ports: z
      .array(
        z.looseObject({
          number: port(),
          name: z.string().default(''),
          protocol: z.string().default('TCP'),
          targetPort: z.int().optional(),
        }),
      )
      .default([]),
    resolution: z.string().default('NONE'),
    endpoints: z.array(workload).default([]),
    workloadSelector: z.looseObject({ labels }).optional(),
  }),
})

export type ServiceEntryObject = z.output<typeof serviceEntry>
export type ServiceEntryPort = ServiceEntryObject['spec']['ports'][number]

export const workloadEntry = object({ spec: workload })
