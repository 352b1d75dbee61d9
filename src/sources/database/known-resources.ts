import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { BackendReference } from '../../reach/checks/draft.ts'
import { type ItemMemory, type ItemReader, watchReading } from '../file/known-items.ts'
import type { Reading } from '../file/reading.ts'
import type { MergedResource } from './merge.ts'
import { isResourceList } from './overlay.ts'
import { nameIn } from './resources.ts'

/** A resource as it was read, with all that reading it did beside. */
interface Known {
  readonly item: unknown
  /** Backends that it names. */
  readonly references: readonly BackendReference[]
  readonly diagnostics: readonly Diagnostic[]
  /** Of one that may be called by its number, the number. */
  readonly index: number | undefined
}

/**
 * Resources as they were read, for as long as they are what they are. With thousands of them stored
 * an edit changes one: the others are neither read nor checked by themselves again, and are the same
 * objects as before, so that nothing after the reader compares or compiles them either. What they
 * are to each other, as names and references, is checked each time.
 *
 * A resource is kept only if it depends on nothing but its value: one that names a file or delegates
 * to a group of routes is read each time.
 */
export class KnownResources implements ItemMemory {
  readonly #known = new WeakMap<MergedResource, Known>()

  open(reading: Reading, key: string): ItemReader {
    return this.#open(reading, key)
  }

  openPolicies(reading: Reading): ItemReader<unknown> {
    return this.#open(reading, 'policies')
  }

  #open(reading: Reading, key: string): ItemReader<unknown> {
    const list = reading.document.lists.get(key)
    if (!isResourceList(list)) return (_, read) => read(reading)
    let mayKeep = true
    let diagnostics: Diagnostic[] = []
    const watched = watchReading(
      reading,
      () => {
        mayKeep = false
      },
      (diagnostic) => diagnostics.push(diagnostic),
    )
    return (index, read) => {
      const resource = list.resourceAt(index) as MergedResource
      const known = this.#known.get(resource)
      if (known !== undefined && (known.index ?? index) === index) {
        for (const one of known.references) reading.references.push(one)
        for (const one of known.diagnostics) reading.report(one)
        return known.item as ReturnType<typeof read>
      }
      mayKeep = true
      diagnostics = []
      const first = reading.references.length
      const item = read(watched)
      if (mayKeep) {
        const references = reading.references.slice(first)
        // A name that is missing or invalid is replaced by the number.
        const isNamed = nameIn(resource.value) !== undefined && diagnostics.length === 0
        const own = { item, references, diagnostics, index: isNamed ? undefined : index }
        this.#known.set(resource, own)
      }
      return item
    }
  }
}
