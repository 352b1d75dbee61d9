import { posix } from 'node:path'
import { codeOf } from '../../test/architecture/code-only.ts'
import { importsOf } from '../../test/architecture/imports.ts'
import { isTest, isTypeScript, lineAt, type SourceFile } from '../../test/architecture/rule.ts'

/** What depends on what at run time: a path → the files that load it, and how near they are. */
export type ImportGraph = ReadonlyMap<string, ReadonlyMap<string, number>>

/** A file that depends on another; `distance` is 1 if it imports it itself. */
export interface Dependent {
  readonly path: string
  readonly distance: number
}

/** A path in a string may only be a name, so an import is nearer. */
const MENTION_DISTANCE = 3

/**
 * Imports that exist at run time, and paths in strings: programs and workers are started by their
 * path, and data is read by it. Such a path is relative to the file or to the root.
 */
export function importGraph(files: readonly SourceFile[]): ImportGraph {
  const graph = new Map<string, Map<string, number>>()
  const add = (path: string, dependent: string, distance: number) => {
    const dependents = graph.get(path) ?? new Map<string, number>()
    graph.set(path, dependents)
    dependents.set(dependent, Math.min(distance, dependents.get(dependent) ?? distance))
  }
  for (const file of files.filter(({ path }) => isTypeScript(path))) {
    const imports = importsOf(file)
    for (const { target, typeOnly } of imports) {
      if (target !== undefined && !typeOnly) add(target, file.path, 1)
    }
    const specifiers = new Set(imports.map(({ line, specifier }) => `${line} ${specifier}`))
    for (const { text, offset } of pathsIn(file)) {
      if (specifiers.has(`${lineAt(file.text, offset)} ${text}`)) continue
      add(posix.join(posix.dirname(file.path), text), file.path, MENTION_DISTANCE)
      add(posix.join(text), file.path, MENTION_DISTANCE)
    }
  }
  return graph
}

/** The test files that depend on a path, directly or through others, the nearest first. */
export function testsOf(graph: ImportGraph, path: string): readonly Dependent[] {
  return dependentsOf(graph, path).filter((dependent) => isTest(dependent.path))
}

/** The file itself, with distance 0, and all that depend on it, the nearest first. */
export function dependentsOf(graph: ImportGraph, path: string): readonly Dependent[] {
  const distances = new Map<string, number>()
  const levels: string[][] = [[path]]
  for (let distance = 0; distance < levels.length; distance++) {
    for (const current of levels[distance] ?? []) {
      if (distances.has(current)) continue
      distances.set(current, distance)
      for (const [dependent, step] of graph.get(current) ?? []) {
        const level = levels[distance + step] ?? []
        levels[distance + step] = level
        level.push(dependent)
      }
    }
  }
  return [...distances].map(([dependent, distance]) => ({ path: dependent, distance }))
}

const QUOTED = /(['"])( +)\1/g
const PATH = /^(?:\.{0,2}\/)*[\w@-][\w@./-]*\.\w+$/

function pathsIn(file: SourceFile): readonly { text: string; offset: number }[] {
  return [...codeOf(file).matchAll(QUOTED)]
    .map(({ index: offset, 0: quoted }) => ({
      text: file.text.slice(offset + 1, offset + quoted.length - 1),
      offset,
    }))
    .filter(({ text }) => PATH.test(text))
}
