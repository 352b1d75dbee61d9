import { appendFileSync } from 'node:fs'
import { MUTANT_VARIABLE, REACH_VARIABLE } from './orders.ts'

// Loaded first (--import) by every process and thread that a test starts.
const active = Number(process.env[MUTANT_VARIABLE] ?? 0)
const record = process.env[REACH_VARIABLE] ?? ''
const reached = new Set<number>()

globalThis.__mutant = (id) => {
  if (record !== '' && !reached.has(id)) {
    reached.add(id)
    appendFileSync(record, `${id}\n`)
  }
  return id === active
}
