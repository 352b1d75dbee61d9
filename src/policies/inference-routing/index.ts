import { definePolicy } from '../define.ts'
import { compileInferenceRouting } from './compile.ts'
import { inferenceRouting as schema } from './schema.ts'

export const inferenceRouting = definePolicy({
  kind: 'inferenceRouting',
  schema,
  compile: compileInferenceRouting,
})
