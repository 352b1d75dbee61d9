import { definePolicy } from '../define.ts'
import { compileBudgets } from './compile.ts'
import { budgets as schema } from './schema.ts'

export const budgets = definePolicy({ kind: 'budgets', schema, compile: compileBudgets })
