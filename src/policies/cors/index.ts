import { definePolicy } from '../define.ts'
import { compileCors } from './compile.ts'
import { cors as schema } from './schema.ts'

export const cors = definePolicy({
  kind: 'cors',
  schema,
  compile: compileCors,
})
