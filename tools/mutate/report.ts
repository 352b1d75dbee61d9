import { siblingOf } from './candidates.ts'
import type { Outcome } from './judge.ts'
import { renderMutant } from './mutant.ts'
import type { Result } from './results.ts'

const OUTCOMES: readonly Outcome[] = ['killed', 'survived', 'unreached', 'equivalent', 'unjudged']
const HEADER = ['room', 'mutants', ...OUTCOMES, 'rate']

export interface RoomCounts {
  readonly room: string
  readonly mutants: number
  readonly counts: Readonly<Record<Outcome, number>>
  /** Killed, of those that were judged and are not equivalent. */
  readonly rate: number | undefined
}

export function countByRoom(results: readonly Result[]): readonly RoomCounts[] {
  const rooms = [...Map.groupBy(results, ({ room }) => room)].toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  )
  return [...rooms, ['all', results] as const].map(([room, list]) => {
    const count = (outcome: Outcome) => list.filter((result) => result.outcome === outcome).length
    const counts = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, count(outcome)]))
    const { killed = 0, survived = 0, unreached = 0 } = counts
    const judged = killed + survived + unreached
    return {
      room,
      mutants: list.length,
      counts: counts as Record<Outcome, number>,
      rate: judged === 0 ? undefined : killed / judged,
    }
  })
}

export function renderTable(rooms: readonly RoomCounts[]): string {
  const rows = rooms.map(({ room, mutants, counts, rate }) => [
    room,
    String(mutants),
    ...OUTCOMES.map((outcome) => String(counts[outcome])),
    rate === undefined ? '–' : `${(100 * rate).toFixed(0)} %`,
  ])
  const widths = HEADER.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  return [HEADER, ...rows]
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0
          return column === 0 ? cell.padEnd(width) : cell.padStart(width)
        })
        .join('  '),
    )
    .join('\n')
}

/** Mutants that no test noticed, each with the test file that should have. */
export function renderSurvivors(results: readonly Result[]): string {
  return results
    .filter(({ outcome }) => outcome === 'survived' || outcome === 'unreached')
    .toSorted((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
    .map((result) => {
      const { nearest, ran, file } = result
      const others = ran.length > 1 ? `, ${ran.length - 1} more` : ''
      const expected =
        nearest === undefined ? `not reached; expected: ${siblingOf(file)}` : `${nearest}${others}`
      return `${renderMutant(result)}   (${expected})`
    })
    .join('\n')
}
