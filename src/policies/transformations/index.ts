import { definePolicy } from '../define.ts'
import { compileTransformations } from './compile.ts'
import { transformations as schema } from './schema.ts'

export const transformations = definePolicy({
  kind: 'transformations',
  stages: ['traffic', 'backend'],
  schema,
  compile: compileTransformations,
})
