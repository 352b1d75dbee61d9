import { join } from 'node:path'
import { parseArgs } from 'node:util'

export interface Options {
  /** Rooms of src; all if empty. */
  readonly rooms: readonly string[]
  readonly count: number
  readonly seed: number
  readonly minutes: number
  /** The folder of the results, and of the mutated tree. */
  readonly out: string
  readonly jobs: number
  readonly resumes: boolean
  /** Only mutants in lines that differ from this base; undefined for all. */
  readonly changed: string | undefined
  /** Only mutants that no test noticed in the run with these results. */
  readonly again: string | undefined
  readonly failsOnSurvivors: boolean
  readonly listsIdleTests: boolean
}

export const FOLDER = '.cache/mutate'

const CHANGED_COUNT = 50
const CHANGED_MINUTES = 0.8

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    // `--changed` alone means the usual base.
    args: args.map((arg) => (arg === '--changed' ? '--changed=' : arg)),
    options: {
      rooms: { type: 'string', default: '' },
      count: { type: 'string' },
      seed: { type: 'string' },
      minutes: { type: 'string' },
      out: { type: 'string' },
      jobs: { type: 'string' },
      resume: { type: 'boolean', default: false },
      changed: { type: 'string' },
      again: { type: 'string' },
      'fail-on-survivors': { type: 'boolean', default: false },
      'idle-tests': { type: 'boolean', default: false },
    },
  })
  const isChanged = values.changed !== undefined
  const usualOut = isChanged ? 'changed' : values.again === undefined ? undefined : 'again'
  const seed = numberOf(values.seed, isChanged ? 1 : Date.now() % 1_000_000)
  const count = numberOf(values.count, isChanged ? CHANGED_COUNT : 500)
  return {
    rooms: values.rooms.split(',').filter(Boolean),
    count: isChanged ? Math.min(count, CHANGED_COUNT) : count,
    seed,
    minutes: numberOf(values.minutes, isChanged ? CHANGED_MINUTES : Number.POSITIVE_INFINITY),
    out: values.out ?? join(FOLDER, usualOut ?? `seed-${seed}`),
    jobs: numberOf(values.jobs, isChanged ? 2 : 1),
    resumes: values.resume,
    changed: values.changed,
    again: values.again,
    failsOnSurvivors: values['fail-on-survivors'],
    listsIdleTests: values['idle-tests'],
  }
}

function numberOf(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const number = Number(text)
  if (!(number > 0)) throw new Error(`not a number: ${text}`)
  return number
}
