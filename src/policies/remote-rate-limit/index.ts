import { definePolicy } from '../define.ts'
import { compileRemoteRateLimit } from './compile.ts'
import { remoteRateLimit as schema } from './schema.ts'

export const remoteRateLimit = definePolicy({
  kind: 'remoteRateLimit',
  schema,
  compile: compileRemoteRateLimit,
  conditional: 'unless-false',
})
