import { type Import, importsOf } from './imports.ts'
import { isTest, isTypeScript, type Rule, type SourceFile, type Violation } from './rule.ts'
import { IMPORT_TABLE, SIBLINGS, SPECIAL } from './table.ts'

/** Folders of src import only what their row of the table names. Type imports count too. */
export const followsImportTable: Rule = (files) =>
  productImports(files).flatMap((found) => {
    const folder = folderOf(found.from)
    const row = IMPORT_TABLE.find(({ folders }) => folders.includes(folder))
    if (row === undefined) {
      return [violation(found, `src/${folder} has no row in test/architecture/table.ts`)]
    }
    if (row.mayImport === 'all' || isPermitted(folder, row.mayImport, found.target)) return []
    const allowed = row.mayImport.length === 0 ? 'nothing outside itself' : row.mayImport.join(', ')
    return [violation(found, `imports ${found.target}, but ${folder} may import ${allowed}`)]
  })

function isPermitted(folder: string, mayImport: readonly string[], target: string): boolean {
  // Data that is generated for users is not a code dependency.
  if (!isTypeScript(target)) return true
  if (!isProduct(target)) return false
  const other = folderOf(target)
  return (
    other === folder ||
    mayImport.includes(other) ||
    mayImport.some((entry) => SPECIAL[entry]?.test(target))
  )
}

/** `a` imports `b` or `b` imports `a`, never both. */
export const hasNoTwoWayPairs: Rule = (files) => {
  const arrows = new Map<string, Import>()
  for (const found of productImports(files)) {
    arrows.set(`${folderOf(found.from)} ${folderOf(found.target)}`, found)
  }
  return [...arrows].flatMap(([arrow, found]) => {
    const [from = '', to = ''] = arrow.split(' ')
    const back = arrows.get(`${to} ${from}`)
    if (from >= to || back === undefined) return []
    const other = `${back.from}:${back.line} imports ${back.target}`
    return [violation(found, `imports ${found.target}, while ${other}: ${from} ⇄ ${to}`)]
  })
}

/** A policy never imports another; files beside their folders (index, define) may be shared. */
export const keepsSiblingsApart: Rule = (files) =>
  productImports(files).flatMap((found) => {
    const pair = SIBLINGS.flatMap((parent) => {
      const from = childOf(parent, found.from)
      const to = childOf(parent, found.target)
      return from !== undefined && to !== undefined && from !== to ? [[from, to]] : []
    })
    return pair.map(([from, to]) =>
      violation(found, `imports ${found.target}, but ${from} and ${to} are equals that never meet`),
    )
  })

function childOf(parent: string, path: string): string | undefined {
  if (!path.startsWith(`${parent}/`)) return undefined
  const [child, ...rest] = path.slice(parent.length + 1).split('/')
  return rest.length === 0 ? undefined : child
}

/**
 * No file reaches itself by imports that exist at run time, tests included. `import type` is
 * ignored: it is gone before anything is loaded, so it cannot affect the load order.
 */
export const hasNoCycles: Rule = (files) => {
  const graph = new Map<string, readonly Import[]>()
  for (const file of files) {
    graph.set(
      file.path,
      importsOf(file).filter((found) => !found.typeOnly),
    )
  }
  const done = new Set<string>()
  const violations: Violation[] = []
  const visit = (path: string, trail: readonly string[]) => {
    for (const found of graph.get(path) ?? []) {
      const { target } = found
      if (target === undefined || done.has(target)) continue
      const from = trail.indexOf(target)
      if (from === -1) visit(target, [...trail, target])
      else {
        const cycle = [...trail.slice(from), target].join(' → ')
        violations.push(violation(found, `closes a cycle: ${cycle}`))
      }
    }
    done.add(path)
  }
  for (const path of graph.keys()) if (!done.has(path)) visit(path, [path])
  return violations
}

interface ProductImport extends Import {
  readonly target: string
}

function productImports(files: readonly SourceFile[]): readonly ProductImport[] {
  return files
    .filter(({ path }) => isProduct(path) && !isTest(path))
    .flatMap(importsOf)
    .filter((found): found is ProductImport => found.target !== undefined)
}

function isProduct(path: string): boolean {
  return path.startsWith('src/') || path.startsWith('ui/')
}

/** The folder directly under src, or `ui`; for a file directly in src, its own name. */
function folderOf(path: string): string {
  if (path.startsWith('ui/')) return 'ui'
  return path.split('/')[1] ?? path
}

function violation({ from, line }: Import, message: string): Violation {
  return { path: from, line, message }
}
