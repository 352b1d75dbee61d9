import * as z from 'zod'
import type { ObjectBackendRef } from '../resources/routes.ts'
import type { ResolvedRef } from './resolved-ref.ts'
import type { ClusterView } from './view.ts'

/** The value of a Kubernetes object's key, converted to the form in files. */
export interface Converted {
  readonly kind: string
  /** The field: `spec.traffic.rateLimit.local` */
  readonly field: string
  readonly value: unknown
  /** Maps a field in `value` to the field in the object, if they differ. */
  readonly places?: (field: string) => string
}

export interface ConvertContext {
  readonly field: string
  readonly namespace: string
  readonly view: ClusterView
  readonly resolve: (ref: ObjectBackendRef, inner: string) => ResolvedRef
}

export type Converter = (value: unknown, context: ConvertContext) => readonly Converted[]

/** An error that only objects can have, such as a missing Secret. */
export class NotConvertible extends Error {
  readonly kind: string
  readonly field: string
  readonly code: string
  readonly hint: string | undefined

  constructor(kind: string, field: string, code: string, message: string, hint?: string) {
    super(message)
    this.kind = kind
    this.field = field
    this.code = code
    this.hint = hint
  }
}

export type Fields = Readonly<Record<string, unknown>>

const objectRef = z.strictObject({
  name: z.string().min(1),
  key: z.string().optional(),
  kind: z.string().optional(),
})

export function refOf(kind: string, field: string, ref: unknown): z.output<typeof objectRef> {
  const parsed = objectRef.safeParse(ref)
  if (parsed.success) return parsed.data
  throw new NotConvertible(kind, field, 'PC0701', 'not a valid reference: `name` is required')
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
