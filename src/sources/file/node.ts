/** A YAML or JSON text as a tree with positions; offsets are UTF-16 units. */
export type Node = ScalarNode | ListNode | MappingNode

export interface ScalarNode {
  readonly kind: 'scalar'
  readonly value: Scalar
  readonly style: Style
  /** For a block scalar, the offset of its `|` or `>`. */
  readonly start: number
  readonly end: number
}

export type Scalar = string | number | boolean | null
export type Style = 'plain' | 'single' | 'double' | 'literal' | 'folded'

export interface ListNode {
  readonly kind: 'list'
  readonly items: readonly Node[]
  readonly start: number
  readonly end: number
}

export interface MappingNode {
  readonly kind: 'mapping'
  readonly entries: readonly Entry[]
  readonly start: number
  readonly end: number
}

export interface Entry {
  readonly key: string
  readonly keyStart: number
  readonly keyEnd: number
  readonly value: Node
  /** Set for a value whose text may be repeated elsewhere. */
  readonly block?: Block
  /** The offset to add to the positions in the value; absent if they are exact. */
  readonly shift?: number
}

/** A repeated text, as read at its first occurrence. */
export interface Block {
  readonly node: Node
  /** The start of the text at its first occurrence. */
  readonly start: number
  /** The plain value, computed on first use and shared by all occurrences. */
  value: unknown
}

/** Resolves a plain scalar by the core schema of YAML 1.2. */
export function resolvePlain(text: string): Scalar {
  // Most scalars are words that do not begin like any of the patterns below.
  if (text !== '' && !BEGINNINGS.has(text.charCodeAt(0))) return text
  if (/^(?:~|null|Null|NULL|)$/.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^0o[0-7]+$/.test(text)) return Number.parseInt(text.slice(2), 8)
  if (/^0x[0-9a-fA-F]+$/.test(text)) return Number.parseInt(text.slice(2), 16)
  if (/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(text)) return Number(text)
  if (/^(?:[-+]?\.(?:inf|Inf|INF))$/.test(text)) {
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  return /^\.(?:nan|NaN|NAN)$/.test(text) ? Number.NaN : text
}

const BEGINNINGS = new Set([...'-+.0123456789~nNtTfF'].map((char) => char.charCodeAt(0)))
