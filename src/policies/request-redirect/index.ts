import { definePolicy } from '../define.ts'
import { compileRequestRedirect } from './compile.ts'
import { requestRedirect as schema } from './schema.ts'

export const requestRedirect = definePolicy({
  kind: 'requestRedirect',
  schema,
  compile: compileRequestRedirect,
})
