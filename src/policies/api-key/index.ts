import { compileAuthentication } from '../authenticator.ts'
import { definePolicy } from '../define.ts'
import { openApiKey } from './authenticator.ts'
import { apiKey as schema } from './schema.ts'

export const apiKey = definePolicy({
  kind: 'apiKey',
  schema,
  compile: (policies, context) => compileAuthentication(policies, context, openApiKey),
})
