import { definePolicy } from '../define.ts'
import { compileBackendAuth } from './compile.ts'
import { backendAuth as schema } from './schema.ts'

export const backendAuth = definePolicy({
  kind: 'backendAuth',
  schema,
  compile: compileBackendAuth,
})
