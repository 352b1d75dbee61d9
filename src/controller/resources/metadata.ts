import * as z from 'zod'

/**
 * Schemas of cluster objects, with the defaults of their definitions. The same schemas read
 * manifests that no API server has validated. Below `spec`, unknown fields are rejected: a field of
 * a newer definition may restrict what is allowed. Objects of Kubernetes and of the mesh, which are
 * not written for a gateway, may have other fields.
 */

const labels = z.record(z.string(), z.string()).optional()

const metadata = z.looseObject({
  name: z.string().min(1).max(253),
  namespace: z.string().max(63).optional(),
  uid: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: z.string().nullish(),
  labels,
  annotations: labels,
})

export const port = () => z.int().min(1).max(65_535)

export const object = <T extends z.ZodRawShape>(shape: T) => z.looseObject({ metadata, ...shape })

export const labelSelector = z.strictObject({
  matchLabels: z.record(z.string(), z.string()).default({}),
  matchExpressions: z
    .array(
      z.strictObject({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(z.string()).default([]),
      }),
    )
    .default([]),
})

export type LabelSelector = z.output<typeof labelSelector>

/** Whether a selector selects labels; an empty selector selects everything. */
export function selects(
  { matchLabels, matchExpressions }: LabelSelector,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  const isSame = ([key, value]: readonly [string, string]) =>
    Object.hasOwn(labels, key) && labels[key] === value
  if (!Object.entries(matchLabels).every(isSame)) return false
  return matchExpressions.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined
    if (operator === 'Exists') return value !== undefined
    if (operator === 'DoesNotExist') return value === undefined
    if (operator === 'In') return value !== undefined && values.includes(value)
    return value === undefined || !values.includes(value)
  })
}

export const GATEWAY_API = 'gateway.networking.k8s.io'
export const PORTCULLIS = 'portcullis.dev'
