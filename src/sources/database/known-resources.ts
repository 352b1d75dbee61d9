import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { BackendReference } from '../../reach/checks/draft.ts'
import { type ItemMemory, type ItemReader, watchReading } from '../file/known-items.ts'
import type { Reading } from '../file/reading.ts'
import type { MergedResource } from './merge.ts'
import { isResourceList } from './overlay.ts'
import { nameIn } from './resources.ts'

/** A resource as it was read, with the side effects of reading it. */
interface Known {
  readonly item: unknown
  /** The backends that it names. */
  readonly references: readonly BackendReference[]
  readonly diagnostics: readonly Diagnostic[]
  /** The index, if the resource may be named by its index. */
  readonly index: number | undefined
}

/**
 * Caches resources as they were read, until they change. With thousands of stored resources, an
 * edit changes one: the others are neither read nor checked individually again, and stay the same
 * objects, so that nothing after the reader compares or compiles them either. Relations between
 * resources, such as names and references, are checked each time.
 *
 * A resource is cached only if it depends on nothing but its value: a resource that names a file or
 * delegates to a route group is read each time.
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
      const { parts } = reading.document
      parts.nameOf(key, index, () => resource.value)
      const isNamed = !parts.isRepeated(key, index)
      if (known !== undefined && isNamed && (known.index ?? index) === index) {
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
        // A missing or invalid name is replaced by the index.
        const isNamed = nameIn(resource.value) !== undefined && diagnostics.length === 0
        const own = { item, references, diagnostics, index: isNamed ? undefined : index }
        this.#known.set(resource, own)
      }
      return item
    }
  }
}
