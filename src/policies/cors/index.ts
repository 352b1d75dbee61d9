import { definePolicy } from '../define.ts'
import { compileCors } from './compile.ts'
import { cors as schema } from './schema.ts'

export const cors = definePolicy({
  kind: 'cors',
  stages: ['traffic'],
  schema,
  compile: compileCors,
})
