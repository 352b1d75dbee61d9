import type * as z from 'zod'
import { definePolicy, type Policy } from '../define.ts'
import { compileAnyOf, type Methods } from './compile.ts'
import type { authenticationOf } from './schema.ts'

/** Policies never import each other: the list of all policies passes in the available methods. */
export function authenticationBy(methods: Methods, schema: z.ZodType): Policy {
  return definePolicy({
    kind: 'authentication',
    schema: schema as ReturnType<typeof authenticationOf>,
    compile: (policies, context) => compileAnyOf(policies, context, methods),
  })
}
