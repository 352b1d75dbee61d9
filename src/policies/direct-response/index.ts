import { definePolicy } from '../define.ts'
import { compileDirectResponse } from './compile.ts'
import { directResponse as schema } from './schema.ts'

export const directResponse = definePolicy({
  kind: 'directResponse',
  schema,
  compile: compileDirectResponse,
  conditional: 'if-true',
})
