import type { PartOrigin } from '../../diagnostics/diagnostic.ts'
import { type Document, locate, type Path } from './document.ts'

/** The names of the items of a document's lists; every item gets one of its own. */
export class PartNames {
  readonly #names = new Map<string, string[]>()
  readonly #paths = new Map<string, Path>()

  /** The part of an item; names it when it is first read. */
  nameOf(list: string, index: number, item: () => unknown): string {
    const name = this.#names.get(list)?.[index]
    return name ?? this.#add(list, index, nameIn(item()))
  }

  /** Names an item that is not read again; false if an item before it has this name. */
  reuse(list: string, index: number, part: string): boolean {
    if (this.#paths.has(part)) return false
    this.#set(list, index, part)
    return true
  }

  /** Whether another item has the same name, so that the part has a number. */
  isRepeated(list: string, index: number): boolean {
    return this.#names.get(list)?.[index]?.includes('#') === true
  }

  pathOf(part: string): Path | undefined {
    return this.#paths.get(part)
  }

  #add(list: string, index: number, name: string | undefined): string {
    const plain = name === undefined ? `${list}[${index}]` : `${list}/${name}`
    let part = plain
    for (let n = 2; this.#paths.has(part); n++) part = `${plain}#${n}`
    this.#set(list, index, part)
    return part
  }

  #set(list: string, index: number, part: string): void {
    let names = this.#names.get(list)
    if (names === undefined) this.#names.set(list, (names = []))
    names[index] = part
    this.#paths.set(part, [list, index])
  }
}

/** Several routes may have the same name, with different names of rules. */
function nameIn(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { name, namespace, ruleName } = item as Readonly<Record<string, unknown>>
  if (typeof name === 'object') return nameIn(name)
  if (typeof name !== 'string') return undefined
  return [namespace, name, ruleName].filter((one) => typeof one === 'string').join('/')
}

/** The origin of the value at a path; `item`: the value of the list item around it. */
export function partOrigin(document: Document, path: Path, item?: () => unknown): PartOrigin {
  const { file } = document
  const [key = '', inner] = path
  const list = String(key)
  const isItem = typeof inner === 'number'
  const isNamed = isItem || (inner !== undefined && list === RECORD)
  const part = isItem
    ? document.parts.nameOf(list, inner, item ?? (() => itemAt(document, list, inner)))
    : isNamed
      ? `${list}/${String(inner)}`
      : list
  const field = fieldOf(path, isNamed ? 2 : 1)
  return { kind: 'part', file, part, field }
}

/** The section that is a mapping of parts by their names. */
const RECORD = 'gateways'

function itemAt(document: Document, list: string, index: number): unknown {
  const pieces = document.lists.get(list)
  if (pieces !== undefined) return index < pieces.length ? pieces.at(index).value : undefined
  return (document.value as Readonly<Record<string, readonly unknown[]>>)[list]?.[index]
}

export function fieldOf(path: Path, from = 0): string {
  let field = ''
  for (let i = from; i < path.length; i++) {
    const step = path[i] as PropertyKey
    if (typeof step === 'number') field += `[${step}]`
    else field += field === '' ? String(step) : `.${String(step)}`
  }
  return field
}

/** Names all items of a document; `value`: with the items of its lists. */
export function nameItems({ parts }: Document, value: unknown): void {
  for (const [list, items] of Object.entries((value ?? {}) as object)) {
    if (!Array.isArray(items)) continue
    for (let i = 0; i < items.length; i++) parts.nameOf(list, i, () => items[i])
  }
}

/** The path of a part in its document; undefined if there is no such item. */
export function pathOfPart(document: Document, part: string): Path | undefined {
  const path = document.parts.pathOf(part)
  if (path !== undefined || part === '') return path ?? []
  if (locate(document, [part]).isThere) return [part]
  if (part.startsWith(`${RECORD}/`)) return [RECORD, part.slice(RECORD.length + 1)]
  return /[/[]/.test(part) ? undefined : [part]
}
