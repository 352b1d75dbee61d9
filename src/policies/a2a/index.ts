import { definePolicy } from '../define.ts'
import { a2a as schema } from './schema.ts'

/** Empty: the backend, the only part that knows the protocol, reads messages and rewrites cards. */
export const a2a = definePolicy({ kind: 'a2a', schema, compile: () => ({}) })
