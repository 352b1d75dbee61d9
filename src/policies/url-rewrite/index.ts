import { definePolicy } from '../define.ts'
import { compileUrlRewrite } from './compile.ts'
import { urlRewrite as schema } from './schema.ts'

export const urlRewrite = definePolicy({
  kind: 'urlRewrite',
  schema,
  compile: compileUrlRewrite,
})
