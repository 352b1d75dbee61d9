import { definePolicy } from '../define.ts'
import { compileOidc } from './compile.ts'
import { oidc as schema } from './schema.ts'

export const oidc = definePolicy({
  kind: 'oidc',
  schema,
  compile: compileOidc,
})
