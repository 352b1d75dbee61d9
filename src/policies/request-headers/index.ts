import { definePolicy } from '../define.ts'
import { compileRequestHeaders } from './compile.ts'
import { requestHeaders as schema } from './schema.ts'

export const requestHeaders = definePolicy({
  kind: 'requestHeaders',
  schema,
  compile: compileRequestHeaders,
})
