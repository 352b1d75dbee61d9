import { compileAuthentication } from '../authenticator.ts'
import { definePolicy } from '../define.ts'
import { openJwt } from './authenticator.ts'
import { jwtAuthentication as schema } from './schema.ts'

export const jwtAuthentication = definePolicy({
  kind: 'jwtAuthentication',
  schema,
  compile: (policies, context) => compileAuthentication(policies, context, openJwt),
})
