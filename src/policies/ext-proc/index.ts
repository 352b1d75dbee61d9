import { definePolicy } from '../define.ts'
import { compileExtProc } from './compile.ts'
import { extProc as schema } from './schema.ts'

export const extProc = definePolicy({ kind: 'extProc', schema, compile: compileExtProc })
