import { definePolicy } from '../define.ts'
import { compileRetry } from './compile.ts'
import { retry as schema } from './schema.ts'

export const retry = definePolicy({
  kind: 'retry',
  schema,
  compile: compileRetry,
})
