import * as z from 'zod'
import { object, port } from './metadata.ts'

const servicePort = z.looseObject({
  name: z.string().optional(),
  protocol: z.string().default('TCP'),
  appProtocol: z.string().optional(),
  port: port(),
  targetPort: z.union([z.number(), z.string()]).optional(),
})

export const service = object({
  spec: z
    .looseObject({
      type: z.string().default('ClusterIP'),
      clusterIP: z.string().optional(),
      externalName: z.string().optional(),
      ports: z.array(servicePort).default([]),
    })
    .default({ type: 'ClusterIP', ports: [] }),
  status: z
    .looseObject({
      loadBalancer: z
        .looseObject({
          ingress: z
            .array(z.looseObject({ ip: z.string().optional(), hostname: z.string().optional() }))
            .nullish(),
        })
        .optional(),
    })
    .optional(),
})

export type ServiceObject = z.output<typeof service>

export const endpointSlice = object({
  addressType: z.string().optional(),
  endpoints: z
    .array(
      z.looseObject({
        addresses: z.array(z.string()).default([]),
        targetRef: z
          .looseObject({ kind: z.string().nullish(), name: z.string().nullish() })
          .nullish(),
        conditions: z
          .looseObject({
            ready: z.boolean().nullish(),
            serving: z.boolean().nullish(),
            terminating: z.boolean().nullish(),
          })
          .nullish(),
      }),
    )
    .nullish(),
  ports: z
    .array(z.looseObject({ name: z.string().nullish(), port: z.number().nullish() }))
    .nullish(),
})

const base64Entries = z.record(z.string(), z.string()).nullish()

export const secret = object({
  type: z.string().optional(),
  data: base64Entries,
  /** Only in manifests: an API server moves it into `data`. */
  stringData: z.record(z.string(), z.string()).nullish(),
})

export const configMap = object({ data: z.record(z.string(), z.string()).nullish() })

export const referenceGrant = object({
  spec: z.strictObject({
    from: z.array(z.strictObject({ group: z.string(), kind: z.string(), namespace: z.string() })),
    to: z.array(
      z.strictObject({ group: z.string(), kind: z.string(), name: z.string().optional() }),
    ),
  }),
})

/** How the certificate of a backend is verified. */
export const tlsValidation = z.strictObject({
  caCertificateRefs: z
    .array(z.strictObject({ group: z.string(), kind: z.string(), name: z.string() }))
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

export type TlsValidation = z.output<typeof tlsValidation>

export const backendTlsPolicy = object({
  spec: z.strictObject({
    targetRefs: z.array(
      z.strictObject({
        group: z.string(),
        kind: z.string(),
        name: z.string(),
        sectionName: z.string().optional(),
      }),
    ),
    validation: tlsValidation,
    options: z.record(z.string(), z.string()).default({}),
  }),
})

export type BackendTlsPolicyObject = z.output<typeof backendTlsPolicy>
