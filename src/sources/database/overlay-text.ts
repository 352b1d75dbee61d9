import type { ObjectOrigin } from '../../diagnostics/diagnostic.ts'
import type { JsonValue } from '../../model/json.ts'
import { lineStarts } from '../file/document.ts'
import type { Entry, Node } from '../file/node.ts'
import { isObject, keyOf, type Resource } from './resources.ts'

/** The name of a stored resource in messages. */
export function storedName(resource: Pick<Resource, 'kind' | 'id'>): string {
  return `database ${keyOf(resource)}`
}

/**
 * Renders stored resources as text after the text of the baseline, so that the file reader can
 * report positions. Each field has its own line, which maps back to the field.
 */
export class OverlayText {
  /** Offsets of line starts, beginning with those of the baseline. */
  readonly lines: number[]
  readonly #objects: string[] = []
  readonly #fields: string[] = []
  #text: string

  /** `text`: the preceding text; it ends with a line break. */
  constructor(text: string) {
    this.#text = text
    this.lines = [...lineStarts(text)]
  }

  /** Includes the text of the baseline. */
  get text(): string {
    return this.#text
  }

  /** The origin of a line; the first line is 0. */
  originOf(line: number): ObjectOrigin | undefined {
    const [object, field] = [this.#objects[line], this.#fields[line]]
    return object === undefined || field === undefined
      ? undefined
      : { kind: 'object', object, field }
  }

  /** Adds the resource as an entry with its id as the key. */
  add(resource: Resource): Entry {
    const object = storedName(resource)
    const keyStart = this.#offset
    this.#write(JSON.stringify(resource.id))
    const keyEnd = this.#offset
    this.#write(': ')
    const value = this.#node(resource.value, object, '')
    this.#endLine('\n', object, '')
    return { key: resource.id, keyStart, keyEnd, value }
  }

  get #offset(): number {
    return this.#text.length
  }

  #write(text: string): void {
    this.#text += text
  }

  /** `text`: the end of a line; `field`: the field on that line. */
  #endLine(text: string, object: string, field: string): void {
    this.#text += text
    this.lines.push(this.#text.length)
    this.#objects.push(object)
    this.#fields.push(field)
  }

  #node(value: JsonValue, object: string, field: string): Node {
    const start = this.#offset
    if (Array.isArray(value)) {
      this.#endLine('[\n', object, field)
      const items = value.map((item: JsonValue, index) => {
        const inner = `${field}[${index}]`
        const node = this.#node(item, object, inner)
        this.#endLine(',\n', object, inner)
        return node
      })
      this.#write(']')
      return { kind: 'list', items, start, end: this.#offset }
    }
    if (isObject(value)) {
      this.#endLine('{\n', object, field)
      const entries = Object.entries(value).map(([key, member]) => {
        const inner = field === '' ? key : `${field}.${key}`
        const keyStart = this.#offset
        this.#write(JSON.stringify(key))
        const keyEnd = this.#offset
        this.#write(': ')
        const node = this.#node(member ?? null, object, inner)
        this.#endLine(',\n', object, inner)
        return { key, keyStart, keyEnd, value: node }
      })
      this.#write('}')
      return { kind: 'mapping', entries, start, end: this.#offset }
    }
    const scalar = value as string | number | boolean | null
    this.#write(JSON.stringify(scalar))
    const style = typeof scalar === 'string' ? 'double' : 'plain'
    return { kind: 'scalar', value: scalar, style, start, end: this.#offset }
  }
}
