import { createHash } from 'node:crypto'
import type { SourceFile } from '../../test/architecture/rule.ts'
import type { ImportGraph } from '../imports/import-graph.ts'

/** All files that a file depends on, and whether one of them has changed. */
export class Closures {
  readonly #dependencies = new Map<string, string[]>()
  readonly #hashes: ReadonlyMap<string, string>

  constructor(sources: readonly SourceFile[], graph: ImportGraph) {
    this.#hashes = new Map(sources.map(({ path, text }) => [path, hash(text)]))
    for (const [path, dependents] of graph) {
      for (const dependent of dependents.keys()) {
        const list = this.#dependencies.get(dependent) ?? []
        this.#dependencies.set(dependent, list)
        list.push(path)
      }
    }
  }

  /** With the file itself. */
  filesOf(file: string): ReadonlySet<string> {
    const files = new Set([file])
    for (const path of files) {
      for (const dependency of this.#dependencies.get(path) ?? []) {
        if (this.#hashes.has(dependency)) files.add(dependency)
      }
    }
    return files
  }

  /** Another one if the text of any of these files is another. */
  keyOf(file: string): string {
    const lines = [...this.filesOf(file)].sort().map((path) => `${path} ${this.#hashes.get(path)}`)
    return hash([process.version, ...lines].join('\n'))
  }
}

export function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
