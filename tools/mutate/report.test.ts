import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { idleTests } from './idle-tests.ts'
import { placesIn } from './places.ts'
import { countByRoom, renderSurvivors, renderTable } from './report.ts'
import type { Result } from './results.ts'

const [PLACE] = placesIn({ path: 'src/cel/a.ts', text: 'const c = !a' })

function result(verdict: Partial<Result>): Result {
  if (PLACE === undefined) throw new Error('there is no mutant')
  return { ...PLACE, id: 1, outcome: 'survived', ran: [], isFinal: true, ...verdict }
}

const RESULTS = [
  result({
    outcome: 'killed',
    ran: ['src/cel/idle.test.ts', 'src/cel/a.test.ts'],
    killer: { file: 'src/cel/a.test.ts', failure: 'a › b: wrong' },
  }),
  result({ ran: ['src/cel/a.test.ts', 'src/cel/idle.test.ts'], nearest: 'src/cel/a.test.ts' }),
  result({ outcome: 'equivalent' }),
  result({ outcome: 'unreached', room: 'wire', file: 'src/wire/b.ts' }),
]

describe('the report of mutants', () => {
  it('has a table by room, in which mutants that are equivalent do not count', () => {
    assert.equal(
      renderTable(countByRoom(RESULTS)),
      [
        'room  mutants  killed  survived  unreached  equivalent  unjudged  rate',
        'cel         3       1         1          0           1         0  50 %',
        'wire        1       0         0          1           0         0   0 %',
        'all         4       1         1          1           1         0  33 %',
      ].join('\n'),
    )
  })

  it('lists survivors with the test file that should have seen them', () => {
    assert.deepEqual(renderSurvivors(RESULTS).split('\n'), [
      'src/cel/a.ts:1  !a → a   (src/cel/a.test.ts, 1 more)',
      'src/wire/b.ts:1  !a → a   (not reached; expected: src/wire/b.test.ts)',
    ])
  })

  it('lists test files that ran with mutants and killed none', () => {
    assert.deepEqual(idleTests(RESULTS), [{ file: 'src/cel/idle.test.ts', runs: 2 }])
  })
})
