import { definePolicy } from '../define.ts'
import { compileTransformations } from './compile.ts'
import { transformations as schema } from './schema.ts'

export const transformations = definePolicy({
  kind: 'transformations',
  schema,
  compile: compileTransformations,
})
