import { definePolicy } from '../define.ts'
import { compileRequestMirror } from './compile.ts'
import { requestMirror as schema } from './schema.ts'

export const requestMirror = definePolicy({
  kind: 'requestMirror',
  schema,
  compile: compileRequestMirror,
})
