import type { LineBits } from '../line-bits.ts'
import type { Failure } from './node-test.ts'

/** What a test process is to run. */
export interface Order {
  readonly file: string
  /** The mutant that is active meanwhile; 0 for none. */
  readonly mutant: number
  /** What a single test may take. */
  readonly limitMs: number
  /** Record which lines run, in this process from now on. */
  readonly records: boolean
}

export interface Reply {
  readonly failure: Failure | undefined
  /** Without the time to load modules for the first time. */
  readonly ms: number
  /** Lines that have run in this process while modules were loaded. */
  readonly loaded: LineBits
  /** Lines that ran in tests. */
  readonly reached: LineBits
  /** Tests started processes or threads, whose lines are not recorded. */
  readonly hasChildren: boolean
  readonly memoryMb: number
}

/** For the processes that tests start: the active mutant, and the file that tells of them. */
export const MUTANT_VARIABLE = 'PORTCULLIS_MUTANT'
export const CHILDREN_VARIABLE = 'PORTCULLIS_MUTANT_CHILDREN'

declare global {
  /** Whether this mutant is active; code with switches calls it. */
  var __mutant: ((id: number) => boolean) | undefined
}
