// HOT PATH: short writes of all connections, for each request and response. Guarded by
// bench/proxy.ts.

/*
 * A write is a system call that evicts much of our code from the processor's caches. So the writes
 * of many connections are batched at the end of a turn of the event loop: first everything that was
 * received is processed, then everything is written. That takes a seventh off the CPU time of a
 * small request. If turns bring one request at a time, there is nothing to batch, and waiting for
 * their end would cost more than it saves: then each write is made at once.
 */

/** Has something to write at the end of the turn. */
export interface Leaving {
  /** Writes it; does nothing if it has been written in the meantime. */
  leave(): void
}

/** Max writes that wait for each other, so that a long turn delays no response. */
const MAX_WAITING = 16
/**
 * The min number of writes in a turn that makes batching worthwhile. A few requests that arrive
 * together are forwarded one by one: the backend processes the first while the next one is read.
 */
const MANY = 8
/** Consecutive turns with fewer writes, after which each write is made at once. */
const MAX_QUIET = 8
/** Number of unbatched writes until turns are counted again. */
const UNTIL_NEXT_LOOK = 64

export class TurnWrites {
  /** Whether recent turns had many writes. */
  gathers = true
  readonly #waiting: (Leaving | undefined)[] = Array.from({ length: MAX_WAITING })
  /** Among the waiting ones: how many were added, and how many of them were written. */
  #added = 0
  #left = 0
  #isScheduled = false
  #inTurn = 0
  #quiet = 0
  #alone = 0

  /** Schedules `leave` for the end of the turn, or calls it sooner. */
  add(one: Leaving): void {
    if (!this.gathers) {
      if (++this.#alone < UNTIL_NEXT_LOOK) {
        one.leave()
        return
      }
      this.gathers = true
      this.#quiet = MAX_QUIET - 1
    }
    this.#inTurn++
    this.#waiting[this.#added++] = one
    if (this.#added >= MAX_WAITING) this.#leaveAll()
    if (!this.#isScheduled) this.#schedule()
  }

  /** Runs a function at the end of a turn; its writes are made right after it. */
  around(run: () => void): void {
    const isScheduled = this.#isScheduled
    this.#isScheduled = true
    try {
      run()
    } finally {
      this.#isScheduled = isScheduled
      this.#leaveAll()
    }
  }

  #schedule(): void {
    this.#isScheduled = true
    setImmediate(this.#atEnd)
  }

  readonly #atEnd = (): void => {
    this.#isScheduled = false
    this.#quiet = this.#inTurn < MANY ? this.#quiet + 1 : 0
    this.#inTurn = 0
    if (this.#quiet >= MAX_QUIET) {
      this.gathers = false
      this.#alone = 0
    }
    this.#leaveAll()
  }

  /** A `leave` call may add others, which can cause a nested call. */
  #leaveAll(): void {
    const waiting = this.#waiting
    try {
      while (this.#left < this.#added) {
        const one = waiting[this.#left] as Leaving
        waiting[this.#left++] = undefined
        one.leave()
      }
      this.#added = 0
      this.#left = 0
    } finally {
      // If one of them throws, the others must not wait forever.
      if (this.#added > 0) this.#moveUp()
    }
  }

  #moveUp(): void {
    const count = this.#added - this.#left
    this.#waiting.copyWithin(0, this.#left, this.#added)
    this.#waiting.fill(undefined, count)
    this.#added = count
    this.#left = 0
    if (count > 0 && !this.#isScheduled) this.#schedule()
  }
}

/**
 * Runs functions after everything received so far has been read: the event loop delivers events
 * that the kernel already has in this turn or in the next one.
 */
export class NextTurn {
  #fresh: (() => void)[] = []
  #due: (() => void)[] = []
  #isScheduled = false
  readonly #writes: TurnWrites
  readonly #atEndOfTurn: (run: () => void) => unknown

  constructor(writes: TurnWrites, atEndOfTurn: (run: () => void) => unknown = setImmediate) {
    this.#writes = writes
    this.#atEndOfTurn = atEndOfTurn
  }

  add(run: () => void): void {
    this.#fresh.push(run)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#atEndOfTurn(this.#atEnd)
  }

  readonly #atEnd = (): void => {
    this.#isScheduled = false
    const due = this.#due
    this.#due = this.#fresh
    this.#fresh = []
    if (this.#due.length > 0) this.#schedule()
    if (due.length > 0) this.#writes.around(() => this.#run(due))
  }

  #run(due: (() => void)[]): void {
    let at = 0
    try {
      while (at < due.length) due[at++]?.()
    } finally {
      // If one of them throws, the others must not wait forever.
      if (at < due.length) {
        this.#due.push(...due.slice(at))
        this.#schedule()
      }
    }
  }
}

/** Shared by all connections. */
export const turnWrites: TurnWrites = new TurnWrites()

export const nextTurn: NextTurn = new NextTurn(turnWrites)
