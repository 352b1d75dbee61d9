import { appendFileSync } from 'node:fs'
import { CHILDREN_VARIABLE, MUTANT_VARIABLE } from './orders.ts'

// Loaded first (--import) by every process and thread that a test starts.
const active = Number(process.env[MUTANT_VARIABLE] ?? 0)
const note = process.env[CHILDREN_VARIABLE] ?? ''
if (note !== '') appendFileSync(note, '.')

globalThis.__mutant = (id) => id === active
