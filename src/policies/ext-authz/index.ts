import { definePolicy } from '../define.ts'
import { compileExtAuthz } from './compile.ts'
import { extAuthz as schema } from './schema.ts'

export const extAuthz = definePolicy({
  kind: 'extAuthz',
  schema,
  compile: compileExtAuthz,
  conditional: 'unless-false',
})
