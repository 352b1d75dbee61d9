import * as z from 'zod'
import { object, port } from './metadata.ts'

export const ISTIO = 'networking.istio.io'

const ports = z.record(z.string(), z.number()).default({})

export const serviceEntry = object({
  spec: z.looseObject({
    hosts: z.array(z.string()).default([]),
    ports: z
      .array(
        z.looseObject({
          number: port(),
          name: z.string().default(''),
          protocol: z.string().default('TCP'),
          targetPort: port().optional(),
        }),
      )
      .default([]),
    resolution: z.string().default('NONE'),
    endpoints: z.array(z.looseObject({ address: z.string().default(''), ports })).default([]),
    workloadSelector: z
      .looseObject({ labels: z.record(z.string(), z.string()).default({}) })
      .optional(),
  }),
})

export type ServiceEntryObject = z.output<typeof serviceEntry>

/** A workload outside the cluster; a ServiceEntry selects it by its labels. */
export const workloadEntry = object({
  spec: z.looseObject({
    address: z.string().default(''),
    ports,
    labels: z.record(z.string(), z.string()).default({}),
  }),
})
