import { definePolicy } from '../define.ts'
import { compileAuthorization } from './compile.ts'
import { authorization as schema } from './schema.ts'

export const authorization = definePolicy({
  kind: 'authorization',
  schema,
  compile: compileAuthorization,
})
