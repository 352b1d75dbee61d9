import { definePolicy } from '../define.ts'
import { ai as schema } from './schema.ts'

/** Whoever makes the call changes it: what is to be changed is part of the provider's options. */
export const ai = definePolicy({ kind: 'ai', schema, compile: () => ({}) })
