// HOT PATH: short writes of all connections, once per request and response. Guarded by bench/proxy.ts.

/*
 * A write is a call into the kernel that leaves little of our code in the processor's caches. So
 * what many connections have to write leaves together at the end of a turn of the event loop: first
 * all that was received is understood, then all is written. That takes a seventh off the CPU time
 * of a small request. Where turns bring one request at a time there is nothing to gather, and to
 * wait for their end would cost more than it saves: then each is written at once.
 */

/** Who has something to write when the turn is over. */
export interface Leaving {
  /** Writes it; nothing where it has left by itself meanwhile. */
  leave(): void
}

/** So many wait for each other at most: nobody's response is held up by a long turn. */
const MAX_WAITING = 16
/**
 * Writes of a turn that make it worth while. A few requests that came together are sent on one by
 * one: the backend works on the first while the next one is read.
 */
const MANY = 8
/** Turns with fewer, one after the other, until each is written at once. */
const MAX_QUIET = 8
/** Writes until it is looked again whether turns bring many. */
const UNTIL_NEXT_LOOK = 64

export class TurnWrites {
  /** Whether turns bring many of late. */
  gathers = true
  readonly #waiting: (Leaving | undefined)[] = Array.from({ length: MAX_WAITING })
  /** Of those that wait, how many were added, and how many of them have left. */
  #added = 0
  #left = 0
  #isScheduled = false
  #inTurn = 0
  #quiet = 0
  #alone = 0

  /** Has `leave` called before anything else is read, or sooner. */
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

  /** Runs something at the end of a turn: what it has to write leaves right after it. */
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

  /** One that leaves may add others, until all leave from in here. */
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
      // Where one of them threw, the others must not wait for ever.
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
 * What is done when all that came until now was read: events that the system knows of already are
 * told in this turn of the event loop or in the next one.
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
      // Where one of them threw, the others must not wait for ever.
      if (at < due.length) {
        this.#due.push(...due.slice(at))
        this.#schedule()
      }
    }
  }
}

/** Of all connections. */
export const turnWrites: TurnWrites = new TurnWrites()

export const nextTurn: NextTurn = new NextTurn(turnWrites)
