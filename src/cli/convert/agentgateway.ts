import { type Document, isMap, isScalar, type Node, parseDocument, visit } from 'yaml'
import { hasErrors } from '../../diagnostics/result.ts'
import { loadText } from '../../sources/file/load.ts'
import { type Conversion, DENIES, DENY_ALL, type Lost } from './conversion.ts'
import { ConvertError } from './nginx-syntax.ts'

/** Its default is Optional; here it is Strict. */
const WITH_MODE = new Set(['jwtAuth', 'jwtAuthentication', 'apiKey', 'basicAuth'])
const MAX_ROUNDS = 200

type Path = readonly (string | number)[]

/** Its files are read as they are, but for defaults, older spellings and what is not served. */
export function convertAgentgateway(text: string, file: string): Conversion {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) {
    throw new ConvertError(error.linePos?.[0].line ?? 1, error.message.split('\n')[0] ?? '')
  }
  const lost: Lost[] = []
  moveOlderSpellings(document)
  writeModes(document)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const written = document.toString({ lineWidth: 0 })
    const { result } = loadText(written, file, { environment: {} })
    const first = result.diagnostics.find(
      ({ severity, origin }) => severity === 'error' && origin.kind === 'file',
    )
    if (first === undefined || !hasErrors(result.diagnostics)) break
    if (first.origin.kind !== 'file') break
    const path = pathAt(parseDocument(written), written, first.origin)
    if (path === undefined || path.length === 0) break
    lost.push({ line: undefined, what: path.join('.'), why: first.message })
    document.deleteIn(path)
    denyAround(document, path, lost)
  }
  return { document: document.toJS() as Record<string, unknown>, lost }
}

/** It migrates these itself when it reads a file. */
function moveOlderSpellings(document: Document): void {
  const moves: readonly (readonly [Path, Path])[] = [
    [
      ['config', 'tracing'],
      ['frontendPolicies', 'tracing'],
    ],
    [
      ['config', 'logging', 'filter'],
      ['frontendPolicies', 'accessLog', 'filter'],
    ],
    [
      ['config', 'logging', 'fields'],
      ['frontendPolicies', 'accessLog', 'fields'],
    ],
  ]
  for (const [from, to] of moves) {
    const value = document.getIn(from, true)
    if (value === undefined || document.hasIn(to)) continue
    document.deleteIn(from)
    document.setIn(to, value)
  }
}

function writeModes(document: Document): void {
  visit(document, {
    Pair: (_, { key, value }) => {
      if (isScalar(key) && WITH_MODE.has(String(key.value)) && isMap(value) && !value.has('mode')) {
        value.set('mode', 'Optional')
      }
    },
  })
}

/** A policy that went away must not leave open what it guarded. */
function denyAround(document: Document, path: Path, lost: Lost[]): void {
  const at = path.lastIndexOf('policies')
  if (at === -1) return
  const policies = path.slice(0, at + 1)
  const [, kind] = [path[at], path[at + 1]]
  if (typeof kind !== 'string') return
  document.setIn([...policies, 'authorization'], document.createNode(DENY_ALL))
  lost.push({ line: undefined, what: policies.join('.'), why: DENIES })
}

/** The innermost key or entry that the place is in. */
function pathAt(
  document: Document.Parsed,
  text: string,
  { line, column }: { readonly line: number; readonly column: number },
): Path | undefined {
  const lines = text.split('\n')
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  const offset = before + [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length
  let found: Path | undefined
  const walk = (node: Node | null | undefined, path: Path): void => {
    if (node === null || node === undefined || !('items' in node)) return
    for (const [index, item] of (node as { items: unknown[] }).items.entries()) {
      const pair = item as { key?: Node & { value: unknown }; value?: Node | null }
      const isPair = isMap(node)
      const start = (isPair ? pair.key : (item as Node))?.range?.[0]
      const end = ((isPair ? (pair.value ?? pair.key) : (item as Node)) as Node | undefined)
        ?.range?.[2]
      if (start === undefined || end === undefined || offset < start || offset >= end) continue
      const inner = [...path, isPair ? String(pair.key?.value) : index]
      found = inner
      walk(isPair ? pair.value : (item as Node), inner)
    }
  }
  walk(document.contents, [])
  return found
}
