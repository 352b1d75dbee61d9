import { definePolicy } from '../define.ts'
import { compileGuardrails } from './compile.ts'
import { guardrails as schema } from './schema.ts'

export const guardrails = definePolicy({ kind: 'guardrails', schema, compile: compileGuardrails })
