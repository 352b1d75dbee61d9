import { definePolicy } from '../define.ts'
import { ai as schema } from './schema.ts'

/**
 * Empty: the code that makes the call applies these settings, which are part of the provider's
 * options.
 */
export const ai = definePolicy({ kind: 'ai', schema, compile: () => ({}) })
