import { definePolicy } from '../define.ts'
import { compileJwtAuthentication } from './compile.ts'
import { jwtAuthentication as schema } from './schema.ts'

export const jwtAuthentication = definePolicy({
  kind: 'jwtAuthentication',
  stages: ['traffic'],
  schema,
  compile: (policies, site) => compileJwtAuthentication(policies, site),
})
