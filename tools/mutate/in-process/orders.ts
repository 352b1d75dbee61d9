import type { Failure } from './node-test.ts'

/** What a test process is to run. */
export interface Order {
  readonly file: string
  /** The mutant that is active meanwhile; 0 for none. */
  readonly mutant: number
  /** What a single test may take. */
  readonly limitMs: number
  /** Record which mutants are reached. */
  readonly records: boolean
}

export interface Reply {
  readonly failure: Failure | undefined
  /** Without the time to load modules for the first time. */
  readonly ms: number
  /** Mutants whose code ran while modules were loaded. */
  readonly loaded: readonly number[]
  /** Mutants whose code ran in tests. */
  readonly reached: readonly number[]
  readonly memoryMb: number
}

/** For the processes that tests start: the active mutant, and the file for the mutants they reach. */
export const MUTANT_VARIABLE = 'PORTCULLIS_MUTANT'
export const REACH_VARIABLE = 'PORTCULLIS_MUTANTS_REACHED'

declare global {
  /** Whether this mutant is active; code with switches calls it. */
  var __mutant: ((id: number) => boolean) | undefined
}
