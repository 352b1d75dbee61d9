import { definePolicy } from '../define.ts'
import { compileDelay } from './compile.ts'
import { delay as schema } from './schema.ts'

export const delay = definePolicy({ kind: 'delay', schema, compile: compileDelay })
