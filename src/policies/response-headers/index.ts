import { definePolicy } from '../define.ts'
import { compileResponseHeaders } from './compile.ts'
import { responseHeaders as schema } from './schema.ts'

export const responseHeaders = definePolicy({
  kind: 'responseHeaders',
  schema,
  compile: compileResponseHeaders,
})
