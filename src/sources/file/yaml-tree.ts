import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  Scalar,
  visit,
} from 'yaml'
import type { Entry, Node, ScalarNode, Style } from './node.ts'
import type { Problem } from './problem.ts'
import { describeYamlErrors } from './yaml-errors.ts'

export interface Tree {
  /** Undefined for an empty text and for an unreadable one. */
  readonly root: Node | undefined
  readonly problems: readonly Problem[]
}

/** Aliases are expanded: a few lines of them can exceed any memory. */
const MAX_COPIES = 200_000

export function readYaml(text: string): Tree {
  const document = parseSafely(text)
  if (document === undefined) {
    const message = 'too many levels of nesting'
    return { root: undefined, problems: [{ code: 'PC0202', message, start: 0, end: 1 }] }
  }
  const problems: Problem[] = describeYamlErrors(document.errors, text)
  if (problems.length > 0) return { root: undefined, problems }
  const report = (problem: Problem) => void problems.push(problem)
  const root = document.contents === null ? undefined : convert(document, report)
  return { root, problems }
}

/** The parser is recursive: deeply nested text overflows the stack. */
function parseSafely(text: string): Document.Parsed | undefined {
  try {
    return parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'error' })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

interface Ranged {
  readonly range?: readonly [number, number, number] | null | undefined
}

function convert(document: Document.Parsed, report: (problem: Problem) => void): Node | undefined {
  let copies = 0
  let targets: ReadonlyMap<Alias, unknown> | undefined
  const open = new Set<unknown>()
  try {
    return nodeOf(document.contents, 0)
  } catch (error) {
    if (error instanceof RangeError) {
      const message = 'too many levels of nesting'
      report({ code: 'PC0202', message, start: 0, end: 1 })
      return undefined
    }
    throw error
  }

  function nodeOf(node: unknown, fallback: number): Node {
    const [start = fallback, end = fallback] = (node as Ranged | null)?.range ?? []
    if (open.size > 0 && ++copies > MAX_COPIES) {
      if (copies === MAX_COPIES + 1) {
        const message = 'aliases expand this document beyond the size limit'
        const hint = 'use fewer aliases'
        report({ code: 'PC0206', message, hint, start, end })
      }
      return scalarNode(null, 'plain', start, end)
    }
    const { tag } = (node ?? {}) as { readonly tag?: string }
    if (tag !== undefined && !tag.startsWith('tag:yaml.org,2002:')) {
      const hint = 'remove the tag'
      report({ code: 'PC0206', message: `unsupported tag ${tag}`, hint, start, end })
    }
    if (isAlias(node)) {
      targets ??= targetsOf(document)
      return aliased(targets.get(node), start, end)
    }
    if (isSeq(node)) {
      const items = node.items.map((item) => nodeOf(item, end))
      return { kind: 'list', items, start, end }
    }
    if (isMap(node)) return { kind: 'mapping', entries: entriesOf(node.items), start, end }
    if (!isScalar(node)) return scalarNode(null, 'plain', start, start)
    return scalarNode(node.value, STYLES[node.type ?? 'PLAIN'] ?? 'plain', start, end)
  }

  function aliased(node: unknown, start: number, end: number): Node {
    if (node === undefined || open.has(node)) {
      const isUnknown = node === undefined
      const message = isUnknown
        ? 'this alias refers to an unknown anchor'
        : 'this alias refers to a node that contains it'
      const hint = isUnknown
        ? 'define the anchor first: &name'
        : 'replace the alias with the content itself'
      report({ code: 'PC0206', message, hint, start, end })
      return scalarNode(null, 'plain', start, end)
    }
    open.add(node)
    const target = nodeOf(node, start)
    open.delete(node)
    return target
  }

  function entriesOf(pairs: readonly { readonly key: unknown; readonly value: unknown }[]) {
    const entries = new Map<string, Entry>()
    const merged: Entry[] = []
    for (const { key: keyNode, value } of pairs) {
      const [keyStart = 0, keyEnd = 0] = (keyNode as Ranged | null)?.range ?? []
      const key = keyText(keyNode)
      if (key === undefined || key === '__proto__') {
        const message =
          key === undefined ? 'a key must be a string' : `\`${key}\` is not allowed as a key`
        report({ code: 'PC0206', message, start: keyStart, end: keyEnd })
        continue
      }
      const entry = { key, keyStart, keyEnd, value: nodeOf(value, keyEnd) }
      if (key === '<<' && isScalar(keyNode) && keyNode.type === Scalar.PLAIN) merge(entry, merged)
      else if (entries.has(key)) {
        const message = `duplicate key \`${key}\``
        const hint = 'remove one of them'
        report({ code: 'PC0203', message, hint, start: keyStart, end: keyEnd })
      } else entries.set(key, entry)
    }
    for (const entry of merged) if (!entries.has(entry.key)) entries.set(entry.key, entry)
    return [...entries.values()]
  }

  /** `<<: *defaults`: entries of the mapping itself win. */
  function merge({ value, keyStart, keyEnd }: Entry, merged: Entry[]): void {
    for (const source of value.kind === 'list' ? value.items : [value]) {
      if (source.kind === 'mapping') merged.push(...source.entries)
      else {
        const message = 'only mappings can be merged with `<<`'
        report({ code: 'PC0206', message, start: keyStart, end: keyEnd })
      }
    }
  }
}

/** The targets of aliases: the last preceding anchor of the same name. */
function targetsOf(document: Document.Parsed): ReadonlyMap<Alias, unknown> {
  const anchors = new Map<string, unknown>()
  const targets = new Map<Alias, unknown>()
  visit(document, {
    Alias: (_, alias) => void targets.set(alias, anchors.get(alias.source)),
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
  })
  return targets
}

function keyText(node: unknown): string | undefined {
  if (!isScalar(node)) return undefined
  const { value, source } = node
  if (typeof value === 'string') return value
  // `404: …` is a number in YAML, but a string to its author.
  return typeof value === 'number' || typeof value === 'boolean' ? source : undefined
}

const STYLES: Readonly<Record<string, Style>> = {
  [Scalar.PLAIN]: 'plain',
  [Scalar.QUOTE_SINGLE]: 'single',
  [Scalar.QUOTE_DOUBLE]: 'double',
  [Scalar.BLOCK_LITERAL]: 'literal',
  [Scalar.BLOCK_FOLDED]: 'folded',
}

function scalarNode(value: unknown, style: Style, start: number, end: number): ScalarNode {
  const isScalarValue =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  const plain = isScalarValue ? value : value === null ? null : String(value)
  return { kind: 'scalar', value: plain, style, start, end }
}
