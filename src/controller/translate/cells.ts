interface Source {
  readonly readers: Set<Cell<unknown>>
}

type State = 'clean' | 'suspect' | 'dirty'

/**
 * Values computed from named sources, and recomputed only when a source that they read changes.
 * `touch` reports that a source changed.
 */
export class Cells {
  readonly #things = new Map<string, Source>()
  readonly #shared = new Map<string, Cell<unknown>>()
  /** Shared cells and sources that may have no reader left. */
  readonly #unread = new Set<string>()
  current: Cell<unknown> | undefined

  /** Makes the current computation depend on the source with this name. */
  read(name: string): void {
    const reader = this.current
    if (reader === undefined) return
    let thing = this.#things.get(name)
    if (thing === undefined) this.#things.set(name, (thing = { readers: new Set() }))
    thing.readers.add(reader)
    reader.sources.set(thing, name)
  }

  /** Reports that the source with this name changed. */
  touch(name: string): void {
    for (const reader of this.#things.get(name)?.readers ?? []) reader.mark('dirty')
  }

  /** A value that many depend on: they are recomputed only if the value changes. */
  shared<T>(id: string, compute: () => T, isSame: (a: T, b: T) => boolean): T {
    let cell = this.#shared.get(id) as Cell<T> | undefined
    if (cell === undefined) {
      cell = new Cell(this, compute, isSame)
      this.#shared.set(id, cell as Cell<unknown>)
    }
    cell.compute = compute
    const value = cell.readAs(`cell ${id}`)
    if (cell.readers.size === 0) this.#unread.add(`cell ${id}`)
    return value
  }

  unread(name: string): void {
    this.#unread.add(name)
  }

  /** Drops everything that is no longer read. */
  sweep(): void {
    for (let names = [...this.#unread]; names.length > 0; names = [...this.#unread]) {
      this.#unread.clear()
      for (const name of names) this.#forget(name)
    }
  }

  #forget(name: string): void {
    const thing = this.#things.get(name)
    if (thing !== undefined && thing.readers.size === 0) this.#things.delete(name)
    const id = name.slice('cell '.length)
    const cell = name.startsWith('cell ') ? this.#shared.get(id) : undefined
    if (cell === undefined || cell.readers.size > 0) return
    this.#shared.delete(id)
    cell.drop()
  }
}

/** One computed value. */
export class Cell<T> implements Source {
  readonly readers = new Set<Cell<unknown>>()
  /** The sources that it read, with their names. */
  sources = new Map<Source, string>()
  compute: () => T
  readonly #cells: Cells
  readonly #isSame: (a: T, b: T) => boolean
  /** Called when it may have to be recomputed. */
  readonly #stale: () => void
  #state: State = 'dirty'
  #value: T | undefined
  #hasValue = false

  constructor(
    cells: Cells,
    compute: () => T,
    isSame: (a: T, b: T) => boolean = Object.is,
    stale: () => void = () => {},
  ) {
    this.#cells = cells
    this.compute = compute
    this.#isSame = isSame
    this.#stale = stale
  }

  /** For callers that are not cells. */
  get(): T {
    if (this.#state === 'suspect') this.#settleSources()
    if (this.#state === 'dirty') this.#computeAgain()
    this.#state = 'clean'
    return this.#value as T
  }

  readAs(name: string): T {
    const reader = this.#cells.current
    if (reader !== undefined) {
      this.readers.add(reader)
      reader.sources.set(this as Source, name)
    }
    return this.get()
  }

  mark(state: Exclude<State, 'clean'>): void {
    const before = this.#state
    if (before !== 'dirty') this.#state = state
    if (before !== 'clean') return
    this.#stale()
    for (const reader of this.readers) reader.mark('suspect')
  }

  drop(): void {
    this.#leave(this.sources)
    this.sources = new Map()
  }

  /** A changed source makes this cell dirty. */
  #settleSources(): void {
    for (const source of [...this.sources.keys()]) {
      if (source instanceof Cell) source.get()
      if ((this.#state as State) === 'dirty') return
    }
  }

  #computeAgain(): void {
    const before = this.sources
    const around = this.#cells.current
    this.sources = new Map()
    this.#cells.current = this as Cell<unknown>
    let value: T
    try {
      value = this.compute()
    } finally {
      this.#cells.current = around
      for (const source of this.sources.keys()) before.delete(source)
      this.#leave(before)
    }
    const isKept = this.#hasValue && this.#isSame(this.#value as T, value)
    if (isKept) return
    this.#value = value
    this.#hasValue = true
    for (const reader of this.readers) reader.mark('dirty')
  }

  #leave(sources: ReadonlyMap<Source, string>): void {
    for (const [source, name] of sources) {
      source.readers.delete(this as Cell<unknown>)
      if (source.readers.size === 0) this.#cells.unread(name)
    }
  }
}
