import type { ObjectOrigin } from '../../diagnostics/diagnostic.ts'
import type { JsonValue } from '../../model/json.ts'
import type { Entry, Node } from '../file/node.ts'
import { isObject, keyOf, type Resource } from './resources.ts'

/** What messages call a stored resource. */
function storedName(resource: Pick<Resource, 'kind' | 'id'>): string {
  return `database ${keyOf(resource)}`
}

/**
 * Stored resources as text that goes after that of the baseline, so that the reader of files can
 * say where something is. Every field has a line of its own, by which its place is found again.
 */
export class OverlayText {
  readonly #start: number
  readonly #origins: ObjectOrigin[] = []
  readonly #parts: string[] = []
  #length = 0

  /** `start`: the offset at which the text begins. */
  constructor(start: number) {
    this.#start = start
  }

  get text(): string {
    return this.#parts.join('')
  }

  /** Where each of its lines comes from. */
  get origins(): readonly ObjectOrigin[] {
    return this.#origins
  }

  /** The resource as an entry with its id as the key. */
  add(resource: Resource): Entry {
    const object = storedName(resource)
    const keyStart = this.#offset
    this.#write(JSON.stringify(resource.id))
    const keyEnd = this.#offset
    this.#write(': ')
    const value = this.#node(resource.value, object, '')
    this.#endLine(object, '')
    return { key: resource.id, keyStart, keyEnd, value }
  }

  get #offset(): number {
    return this.#start + this.#length
  }

  #write(text: string): void {
    this.#parts.push(text)
    this.#length += text.length
  }

  /** `field`: what the line that ends here holds. */
  #endLine(object: string, field: string): void {
    this.#write('\n')
    this.#origins.push({ kind: 'object', object, field })
  }

  #node(value: JsonValue, object: string, field: string): Node {
    const start = this.#offset
    if (Array.isArray(value)) {
      this.#write('[')
      this.#endLine(object, field)
      const items = value.map((item: JsonValue, index) => {
        const inner = `${field}[${index}]`
        const node = this.#node(item, object, inner)
        this.#write(',')
        this.#endLine(object, inner)
        return node
      })
      this.#write(']')
      return { kind: 'list', items, start, end: this.#offset }
    }
    if (isObject(value)) {
      this.#write('{')
      this.#endLine(object, field)
      const entries = Object.entries(value).map(([key, member]) => {
        const inner = field === '' ? key : `${field}.${key}`
        const keyStart = this.#offset
        this.#write(JSON.stringify(key))
        const keyEnd = this.#offset
        this.#write(': ')
        const node = this.#node(member ?? null, object, inner)
        this.#write(',')
        this.#endLine(object, inner)
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
