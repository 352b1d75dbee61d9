import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  stringify,
  visit,
  type YAMLMap,
} from 'yaml'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { loadText } from '../../sources/file/load.ts'
import { firstYamlProblem } from '../../sources/file/yaml-errors.ts'
import { isNamedHost, lacksMode } from './agentgateway-defaults.ts'
import { type Conversion, DENIES, DENY_ALL, type Lost } from './conversion.ts'
import { ConvertError } from './nginx-syntax.ts'
import { STAND_INS } from './stand-ins.ts'

const MAX_ROUNDS = 200

type Path = readonly (string | number)[]

/**
 * Converts agentgateway files, which are read as they are except for defaults, older spellings and
 * unsupported settings.
 */
export function convertAgentgateway(text: string, file: string): Conversion {
  const document = readDocument(text)
  const lost: Lost[] = []
  moveOlderSpellings(document)
  writeModes(document)
  writeHosts(document)
  for (let round = 0; ; round++) {
    const written = document.toString({ lineWidth: 0 })
    const concerned = concernsOf(written, file)
    // Unreadable parts cause unresolved references, so they are handled first.
    const first = concerned.find(({ code }) => code.startsWith('PC02')) ?? concerned[0]
    if (first === undefined) break
    const path =
      first.origin.kind === 'file' ? pathAt(parseDocument(written), written, first.origin) : []
    if (path === undefined || path.length === 0 || round === MAX_ROUNDS) {
      throw new ConvertError(1, `cannot convert this: ${first.message}`)
    }
    lost.push({ line: lineOf(text, path), what: path.join('.'), why: first.message })
    document.deleteIn(path)
    denyAround(document, path, lost)
  }
  return { document: document.toJS() as Record<string, unknown>, lost }
}

function readDocument(text: string): Document.Parsed {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) {
    const { message, line } = firstYamlProblem(error, text)
    throw new ConvertError(line, message)
  }
  if (!isMap(document.contents)) throw new ConvertError(1, 'not a configuration')
  return expandAliases(document, text)
}

/** The target of an alias may be removed, so each alias is replaced by a copy. */
function expandAliases(document: Document.Parsed, text: string): Document.Parsed {
  let hasAliases = false
  visit(document, {
    Alias(_, alias) {
      hasAliases = true
      if (alias.resolve(document) !== undefined) return
      const line = text.slice(0, alias.range?.[0] ?? 0).split('\n').length
      throw new ConvertError(line, `the alias \`*${alias.source}\` refers to an unknown anchor`)
    },
  })
  if (!hasAliases) return document
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    return parseDocument(stringify(value, { aliasDuplicateObjects: false }))
  } catch {
    throw new ConvertError(1, 'too many aliases')
  }
}

/**
 * Files and variables that are missing here may exist where the gateway runs. Variables get the
 * stand-ins that fit best: while they are unset, no other error is reported.
 */
function concernsOf(text: string, file: string): readonly Diagnostic[] {
  const tries = STAND_INS.map((environment) =>
    loadText(text, file, { environment }).result.diagnostics.filter(
      ({ severity, code }) => severity === 'error' && code !== 'PC0310',
    ),
  )
  return tries.reduce((best, one) => (one.length < best.length ? one : best))
}

/** The line in the source file; undefined for parts that were moved or added. */
function lineOf(text: string, path: Path): number | undefined {
  const counter = new LineCounter()
  const document = parseDocument(text, { lineCounter: counter })
  const node = document.getIn(path, true)
  const start = isNode(node) ? node.range?.[0] : undefined
  return start === undefined ? undefined : counter.linePos(start).line
}

/** agentgateway migrates these itself when it reads a file. */
function moveOlderSpellings(document: Document): void {
  const tracing = document.getIn(['config', 'tracing'])
  if (isMap(tracing) && !document.hasIn(['frontendPolicies', 'tracing'])) {
    const { otlpEndpoint, otlpProtocol, fields, ...rest } = tracing.toJSON() as OlderTracing
    const [, host, path] = /^((?:https?:\/\/)?[^/]+)(\/.+)?$/i.exec(otlpEndpoint ?? '') ?? []
    const moved = {
      ...(host === undefined ? {} : { host }),
      ...(otlpProtocol === undefined ? {} : { protocol: otlpProtocol }),
      ...(path === undefined ? {} : { path }),
      ...rest,
      ...(fields?.add === undefined ? {} : { attributes: fields.add }),
      ...(fields?.remove === undefined ? {} : { remove: fields.remove }),
    }
    document.deleteIn(['config', 'tracing'])
    document.setIn(['frontendPolicies', 'tracing'], document.createNode(moved))
  }
  const moves: readonly (readonly [Path, Path])[] = [
    [['filter'], ['filter']],
    [['fields', 'add'], ['add']],
    [['fields', 'remove'], ['remove']],
  ]
  for (const [from, to] of moves) {
    const older = ['config', 'logging', ...from]
    const newer = ['frontendPolicies', 'accessLog', ...to]
    const value = document.getIn(older, true)
    if (value === undefined || document.hasIn(newer)) continue
    document.deleteIn(older)
    document.setIn(newer, value)
  }
  for (const path of [['config', 'logging', 'fields'], ['config', 'logging'], ['config']]) {
    const left = document.getIn(path)
    if (isMap(left) && left.items.length === 0) document.deleteIn(path)
  }
}

interface OlderTracing {
  readonly otlpEndpoint?: string
  readonly otlpProtocol?: string
  readonly fields?: { readonly add?: unknown; readonly remove?: unknown }
}

function writeModes(document: Document): void {
  visit(document, {
    Pair: (_, pair) => {
      if (lacksMode(pair) && isMap(pair.value)) pair.value.set('mode', 'Optional')
    },
  })
}

/** agentgateway sends the name of the backend as Host; here, the route must request it. */
function writeHosts(document: Document): void {
  const shared = new Map<unknown, unknown>()
  const backends = document.get('backends')
  for (const one of isSeq(backends) ? backends.items : []) {
    if (isMap(one)) shared.set(one.get('name'), one.get('host'))
  }
  visit(document, {
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || key.value !== 'routes' || !isSeq(value)) return
      for (const route of value.items) if (isMap(route)) writeHost(document, route, shared)
    },
  })
}

function writeHost(document: Document, route: YAMLMap, shared: Map<unknown, unknown>): void {
  const backends = route.get('backends')
  if (!isSeq(backends) || route.hasIn(['policies', 'urlRewrite', 'authority'])) return
  const isNamed = backends.items.some((one) => {
    if (!isMap(one)) return false
    return isNamedHost(one.get('host') ?? shared.get(String(one.get('backend')).replace(/^\//, '')))
  })
  if (!isNamed) return
  if (!route.has('policies')) route.set('policies', document.createNode({}))
  if (!route.hasIn(['policies', 'urlRewrite'])) {
    route.setIn(['policies', 'urlRewrite'], document.createNode({}))
  }
  route.setIn(['policies', 'urlRewrite', 'authority'], 'auto')
}

/** Process settings, and settings that only report on requests: they guard nothing. */
const HARMLESS: readonly Path[] = [
  ['config'],
  ['frontendPolicies', 'accessLog'],
  ['frontendPolicies', 'tracing'],
]

/**
 * Removing a setting must not open what it guarded, nor a route that it made narrower: the
 * innermost place that can deny does so, or the whole file if there is none.
 */
function denyAround(document: Document, path: Path, lost: Lost[]): void {
  if (HARMLESS.some((prefix) => prefix.every((step, index) => path[index] === step))) return
  const place = denyingPlace(path)
  const isThere = place !== undefined && document.hasIn(place)
  if (place !== undefined && !isThere) return
  if (place === undefined) {
    const rules = ['frontendPolicies', 'networkAuthorization']
    document.setIn(rules, document.createNode(DENY_ALL))
    lost.push({ line: undefined, what: 'the file', why: DENIES })
    return
  }
  const policies = place.at(-1) === 'policies' ? place : [...place, 'policies']
  if (!document.hasIn(policies)) document.setIn(policies, document.createNode({}))
  document.setIn([...policies, 'authorization'], document.createNode(DENY_ALL))
  const what = place.join('.')
  if (!lost.some((one) => one.what === what && one.why === DENIES)) {
    lost.push({ line: undefined, what, why: DENIES })
  }
}

/** Sections with a route of their own. */
const SECTIONS: ReadonlySet<unknown> = new Set(['llm', 'mcp', 'ui'])

/** The innermost route, backend entry, gateway or section with rules around a path. */
function denyingPlace(path: Path): Path | undefined {
  const at = path.lastIndexOf('policies')
  if (at > 0 && typeof path[at + 1] === 'string') return path.slice(0, at + 1)
  for (let length = path.length - 1; length > 1; length--) {
    const isEntry = typeof path[length - 1] === 'number'
    if (isEntry && ['routes', 'listeners', 'backends'].includes(String(path[length - 2]))) {
      return path.slice(0, length)
    }
  }
  if (path[0] === 'gateways' && path.length > 2) return path.slice(0, 2)
  const [section] = path
  if (SECTIONS.has(section) && path.length > 1) return [section as string]
  return undefined
}

/** The path of the innermost key or entry at a position. */
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
