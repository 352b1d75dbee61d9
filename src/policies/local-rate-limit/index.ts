import { definePolicy } from '../define.ts'
import { compileLocalRateLimit } from './compile.ts'
import { localRateLimit as schema } from './schema.ts'

export const localRateLimit = definePolicy({
  kind: 'localRateLimit',
  schema,
  compile: compileLocalRateLimit,
  conditional: 'unless-false',
})
