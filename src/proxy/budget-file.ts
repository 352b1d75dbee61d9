import { createHash } from 'node:crypto'
import {
  closeSync,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import {
  type BudgetPlace,
  type BudgetStore,
  type BudgetTake,
  type BudgetUse,
  MemoryBudgets,
  type Shortage,
} from '../exchange/budget-store.ts'
import { appendWhole } from './append.ts'

/*
 * The usage of budgets, in a file that outlives the process: one line for each amount that was
 * taken or given back, `<budget> <key> <end of the period> <amount>`. An amount is written before
 * the call is made, so that no call is lost, however the process ends; a call that was never
 * settled counts with its reservation. Names and keys are digests: the file reveals nothing about
 * callers. An incomplete last line was never granted.
 */

const LINE = /^([\w-]{22}) ([\w-]{22}) (\d{1,16}) (-?\d{1,16})$/
/** Lines after which the file is rewritten, if most of them are history. */
const MAX_LINES = 200_000
/** Milliseconds until written data is synced to disk, in case the machine fails. */
const SYNC = 1_000
/** Calls of past periods can be settled for this long, in milliseconds. */
const GRACE = 24 * 3_600_000

export interface BudgetFileOptions {
  readonly path: string
  /** Called with the error when writing begins to fail. */
  readonly failed: (error: string) => void
  readonly now?: () => number
}

export class BudgetFile implements BudgetStore {
  readonly #options: BudgetFileOptions
  readonly #now: () => number
  readonly #memory: MemoryBudgets
  #file: number
  #lines = 0
  /** Amounts given back or used that could not be written. */
  #unwritten = ''
  #isFailing = false
  #syncing: NodeJS.Timeout | undefined

  /** Throws if the file cannot be read or written, or has other content. */
  constructor(options: BudgetFileOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#memory = new MemoryBudgets(this.#now)
    for (const [place, amount] of linesOf(options.path, this.#now() - GRACE)) {
      this.#memory.charge(place, amount)
    }
    this.#file = this.#rewrite()
  }

  take(asked: BudgetTake): Shortage | undefined {
    const take = { ...asked, ...digested(asked) }
    const shortage = this.#memory.take(take)
    if (shortage !== undefined) return shortage
    if (this.#write(lineOf(take, take.amount))) return undefined
    this.#memory.charge(take, -take.amount)
    return 'owner-away'
  }

  charge(asked: BudgetPlace, amount: number): void {
    const place = { ...asked, ...digested(asked) }
    this.#memory.charge(place, amount)
    const line = lineOf(place, amount)
    if (!this.#write(line)) this.#unwritten += line
  }

  use(budget: string, now: number): BudgetUse {
    return this.#memory.use(digest(budget), now)
  }

  async close(): Promise<void> {
    clearTimeout(this.#syncing)
    if (this.#unwritten !== '') this.#write('')
    try {
      fsyncSync(this.#file)
    } finally {
      closeSync(this.#file)
    }
  }

  #write(line: string): boolean {
    const text = this.#unwritten + line
    try {
      appendWhole(this.#file, text)
    } catch (error) {
      if (!this.#isFailing) this.#options.failed(String(error))
      this.#isFailing = true
      return false
    }
    this.#unwritten = ''
    this.#isFailing = false
    this.#syncing ??= setTimeout(() => {
      this.#syncing = undefined
      fdatasync(this.#file, () => {})
    }, SYNC).unref()
    if (++this.#lines > MAX_LINES) this.#compact()
    return true
  }

  #compact(): void {
    try {
      const before = this.#file
      this.#file = this.#rewrite()
      closeSync(before)
    } catch (error) {
      // The existing file is complete, too.
      this.#lines = 0
      this.#options.failed(String(error))
    }
  }

  /** Writes one line for each account, to a file that replaces the other one as a whole. */
  #rewrite(): number {
    const { path } = this.#options
    const next = `${path}.next`
    const all = [...this.#memory.entries()].filter(({ used }) => used > 0)
    const file = openSync(next, 'w', 0o600)
    writeFileSync(file, all.map((one) => lineOf(one, one.used)).join(''))
    fsyncSync(file)
    closeSync(file)
    renameSync(next, path)
    this.#lines = all.length
    return openSync(path, 'a', 0o600)
  }
}

function digested({ budget, key }: BudgetPlace): Pick<BudgetPlace, 'budget' | 'key'> {
  return { budget: digest(budget), key: digest(key) }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

function lineOf({ budget, key, ends }: BudgetPlace, amount: number): string {
  return `${budget} ${key} ${ends} ${amount}\n`
}

function* linesOf(path: string, since: number): Generator<readonly [BudgetPlace, number]> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const lines = text.split('\n')
  // Text after the last line end is incomplete.
  for (const [index, line] of lines.slice(0, -1).entries()) {
    const [, budget = '', key = '', ends, amount] = LINE.exec(line) ?? []
    if (ends === undefined) throw new Error(`line ${index + 1} of ${path} is not a budget record`)
    if (Number(ends) >= since) yield [{ budget, key, ends: Number(ends) }, Number(amount)]
  }
}
