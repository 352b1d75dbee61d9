import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { placesIn } from './places.ts'
import { appendResult, readAllResults, readResults } from './results.ts'

describe('results of mutants', () => {
  const folder = mkdtempSync(join(tmpdir(), 'results-'))
  after(() => rmSync(folder, { recursive: true }))

  it('are read again after an interrupt, the last of each mutant, without a line that is incomplete', () => {
    const run = join(folder, 'seed-1')
    mkdirSync(run)
    assert.deepEqual(readResults(run), [])
    const [place] = placesIn({ path: 'src/cel/a.ts', text: 'const c = !a' })
    assert.ok(place)
    const result = { ...place, id: 1, outcome: 'survived', ran: [], isFinal: true } as const
    appendResult(run, { ...result, outcome: 'unjudged', isFinal: false })
    appendResult(run, result)
    appendFileSync(join(run, 'results.jsonl'), '{"id":2,"file"')
    assert.deepEqual(readResults(run), [result])
    assert.deepEqual(readAllResults(folder), [result])
  })
})
