import type * as z from 'zod'

export interface ObjectSchema {
  readonly path: readonly PropertyKey[]
  readonly schema: z.core.$ZodType
  readonly isStrict: boolean
  /** Its fields. */
  readonly fields: readonly string[]
}

/** The schemas of objects within a schema. */
export function* schemasIn(
  schema: z.core.$ZodType,
  path: readonly PropertyKey[] = [],
): Generator<ObjectSchema> {
  const { def } = (schema as z.ZodType)._zod as { readonly def: Definition }
  if (def.type === 'object') {
    const { catchall } = def
    yield {
      path,
      schema,
      isStrict: catchall?._zod.def.type === 'never',
      fields: Object.keys(def.shape ?? {}),
    }
    for (const [key, inner] of Object.entries(def.shape ?? {})) {
      yield* schemasIn(inner, [...path, key])
    }
  }
  if (def.element !== undefined) yield* schemasIn(def.element, [...path, 0])
  if (def.innerType !== undefined) yield* schemasIn(def.innerType, path)
  if (def.in !== undefined) yield* schemasIn(def.in, path)
}

interface Definition {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>
  readonly catchall?: z.core.$ZodType
  readonly element?: z.core.$ZodType
  readonly innerType?: z.core.$ZodType
  readonly in?: z.core.$ZodType
}
