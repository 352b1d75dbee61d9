import * as z from 'zod'
import { GATEWAY_API, labelSelector, object, port } from './metadata.ts'

export const gatewayClass = object({
  spec: z.strictObject({
    controllerName: z.string(),
    description: z.string().optional(),
    parametersRef: z
      .strictObject({
        group: z.string(),
        kind: z.string(),
        name: z.string(),
        namespace: z.string().optional(),
      })
      .optional(),
  }),
})

export type GatewayClassObject = z.output<typeof gatewayClass>

const secretRef = z.strictObject({
  group: z.string().default(''),
  kind: z.string().default('Secret'),
  name: z.string(),
  namespace: z.string().optional(),
})

const caRef = z.strictObject({
  group: z.string(),
  kind: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
})

const routeNamespaces = z.strictObject({
  from: z.enum(['All', 'Same', 'Selector', 'None']).default('Same'),
  selector: labelSelector.optional(),
})

const allowedRoutes = z.strictObject({
  namespaces: routeNamespaces.default({ from: 'Same' }),
  kinds: z
    .array(z.strictObject({ group: z.string().default(GATEWAY_API), kind: z.string() }))
    .default([]),
})

export const listener = z.strictObject({
  name: z.string().min(1),
  hostname: z.string().optional(),
  port: port(),
  protocol: z.string(),
  tls: z
    .strictObject({
      mode: z.enum(['Terminate', 'Passthrough']).default('Terminate'),
      certificateRefs: z.array(secretRef).default([]),
      options: z.record(z.string(), z.string()).default({}),
    })
    .optional(),
  allowedRoutes: allowedRoutes.default({ namespaces: { from: 'Same' }, kinds: [] }),
})

export type ListenerSpec = z.output<typeof listener>

const validation = z.strictObject({
  caCertificateRefs: z.array(caRef).min(1),
  mode: z.enum(['AllowValidOnly', 'AllowInsecureFallback']).default('AllowValidOnly'),
})

export type FrontendValidation = z.output<typeof validation>

const frontendTls = z.strictObject({ validation: validation.optional() })

export const gateway = object({
  spec: z.strictObject({
    gatewayClassName: z.string(),
    /** Routes attach only to the Gateways that they name. */
    defaultScope: z.literal('None').optional(),
    listeners: z.array(listener).default([]),
    addresses: z
      .array(
        z.strictObject({ type: z.string().default('IPAddress'), value: z.string().optional() }),
      )
      .default([]),
    infrastructure: z
      .strictObject({
        labels: z.record(z.string(), z.string()).optional(),
        annotations: z.record(z.string(), z.string()).optional(),
        parametersRef: z
          .strictObject({ group: z.string(), kind: z.string(), name: z.string() })
          .optional(),
      })
      .optional(),
    allowedListeners: z
      .strictObject({
        namespaces: z
          .strictObject({
            from: z.enum(['All', 'Same', 'Selector', 'None']).default('None'),
            selector: labelSelector.optional(),
          })
          .default({ from: 'None' }),
      })
      .default({ namespaces: { from: 'None' } }),
    tls: z
      .strictObject({
        backend: z.strictObject({ clientCertificateRef: secretRef.optional() }).optional(),
        frontend: z
          .strictObject({
            default: frontendTls.optional(),
            perPort: z.array(z.strictObject({ port: port(), tls: frontendTls })).default([]),
          })
          .optional(),
      })
      .optional(),
  }),
})

export type GatewayObject = z.output<typeof gateway>

export const listenerSet = object({
  spec: z.strictObject({
    parentRef: z.strictObject({
      group: z.string().default(GATEWAY_API),
      kind: z.string().default('Gateway'),
      name: z.string(),
      namespace: z.string().optional(),
    }),
    listeners: z.array(listener).default([]),
  }),
})

export type ListenerSetObject = z.output<typeof listenerSet>
