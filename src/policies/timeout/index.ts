import { definePolicy } from '../define.ts'
import { compileTimeout } from './compile.ts'
import { timeout as schema } from './schema.ts'

export const timeout = definePolicy({
  kind: 'timeout',
  schema,
  compile: compileTimeout,
})
