import { definePolicy } from '../define.ts'
import { compileCsrf } from './compile.ts'
import { csrf as schema } from './schema.ts'

export const csrf = definePolicy({
  kind: 'csrf',
  schema,
  compile: compileCsrf,
})
