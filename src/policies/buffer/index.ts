import { definePolicy } from '../define.ts'
import { compileBuffer } from './compile.ts'
import { buffer as schema } from './schema.ts'

export const buffer = definePolicy({
  kind: 'buffer',
  schema,
  compile: compileBuffer,
})
