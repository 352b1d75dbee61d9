import { definePolicy } from '../define.ts'
import { compileResponseHeaders } from './compile.ts'
import { responseHeaders as schema } from './schema.ts'

export const responseHeaders = definePolicy({
  kind: 'responseHeaders',
  stages: ['traffic', 'backend'],
  schema,
  compile: compileResponseHeaders,
})
