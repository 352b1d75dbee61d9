import { definePolicy } from '../define.ts'
import { a2a as schema } from './schema.ts'

/** What reads messages and changes cards is part of the backend: nobody else knows its language. */
export const a2a = definePolicy({ kind: 'a2a', schema, compile: () => ({}) })
