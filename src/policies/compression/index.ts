import { definePolicy } from '../define.ts'
import { compileCompression } from './compile.ts'
import { compression as schema } from './schema.ts'

export const compression = definePolicy({
  kind: 'compression',
  schema,
  compile: compileCompression,
})
