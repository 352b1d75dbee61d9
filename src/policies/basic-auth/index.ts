import { compileAuthentication } from '../authenticator.ts'
import { definePolicy } from '../define.ts'
import { openBasic } from './authenticator.ts'
import { basicAuth as schema } from './schema.ts'

export const basicAuth = definePolicy({
  kind: 'basicAuth',
  schema,
  compile: (policies, context) => compileAuthentication(policies, context, openBasic),
})
