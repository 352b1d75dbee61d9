import { staticName, staticValue } from '../../src/wire/http2/hpack-static.ts'
import { encodeHuffman, huffmanLength } from '../../src/wire/http2/huffman.ts'

export type Field = readonly [name: string, value: string]

type MayResize = (isFirst: boolean, fieldsBefore: number, fieldsInTable: number) => boolean

/**
 * A literal implementation of RFC 7541: lists of strings, bits as strings, and an exception for
 * invalid blocks.
 */
export class PlainDecoder {
  #table: Field[] = []
  #limit = 4_096
  readonly #maxInteger: number
  readonly #mayResize: MayResize

  /**
   * `maxInteger`: the maximum number of bytes of an integer after the first; longer integers, which
   * no field needs, are rejected. `mayResize`: whether the table size may change; §4.2: before any
   * field.
   */
  constructor(maxInteger = 3, mayResize: MayResize = (_, fields) => fields === 0) {
    this.#maxInteger = maxInteger
    this.#mayResize = mayResize
  }

  /** Returns the fields, or undefined if the block is invalid. */
  read(bytes: Buffer): readonly Field[] | undefined {
    try {
      return this.#read([...bytes])
    } catch {
      return undefined
    }
  }

  #read(bytes: number[]): readonly Field[] {
    const fields: Field[] = []
    let isFirst = true
    while (bytes.length > 0) {
      const first = bytes[0] as number
      if ((first & 0x80) === 0x80) fields.push(this.#field(integer(bytes, 7, this.#maxInteger)))
      else if ((first & 0xc0) === 0x40) {
        const field = this.#literal(bytes, 6)
        fields.push(field)
        this.#table.unshift(field)
        this.#evict()
      } else if ((first & 0xe0) === 0x20) {
        const limit = integer(bytes, 5, this.#maxInteger)
        const may = this.#mayResize(isFirst, fields.length, this.#table.length)
        if (!may || limit > 4_096) throw new Error('size')
        this.#limit = limit
        this.#evict()
      } else fields.push(this.#literal(bytes, 4))
      isFirst = false
    }
    return fields
  }

  #literal(bytes: number[], bits: number): Field {
    const index = integer(bytes, bits, this.#maxInteger)
    const name = index === 0 ? text(bytes, this.#maxInteger) : this.#field(index)[0]
    return [name, text(bytes, this.#maxInteger)]
  }

  #field(index: number): Field {
    if (index >= 1 && index <= 61) return [staticName(index), staticValue(index)]
    const field = this.#table[index - 62]
    if (field === undefined) throw new Error('index')
    return field
  }

  #evict(): void {
    const size = () =>
      this.#table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0)
    while (size() > this.#limit) this.#table.pop()
  }
}

function next(bytes: number[]): number {
  const byte = bytes.shift()
  if (byte === undefined) throw new Error('end')
  return byte
}

function integer(bytes: number[], bits: number, maxBytes: number): number {
  const max = 2 ** bits - 1
  let value = next(bytes) & max
  if (value < max) return value
  for (let i = 0; i < maxBytes; i++) {
    const byte = next(bytes)
    value += (byte & 127) * 128 ** i
    if (byte < 128) return value
  }
  throw new Error('integer')
}

function text(bytes: number[], maxInteger: number): string {
  const isCoded = ((bytes[0] ?? 0) & 0x80) !== 0
  const length = integer(bytes, 7, maxInteger)
  if (length > bytes.length) throw new Error('text')
  const own = bytes.splice(0, length)
  return isCoded ? decoded(own) : own.map((byte) => String.fromCharCode(byte)).join('')
}

/** Maps the Huffman code of each character, as a string of bits, to the character. */
const CODES = new Map<string, string>()
for (let byte = 0; byte < 256; byte++) {
  // Eight equal characters end on a byte boundary, so an eighth of the result is the code.
  const eight = String.fromCharCode(byte).repeat(8)
  const code = Buffer.alloc(huffmanLength(eight))
  encodeHuffman(eight, code, 0)
  const bits = [...code].map((own) => own.toString(2).padStart(8, '0')).join('')
  CODES.set(bits.slice(0, bits.length / 8), String.fromCharCode(byte))
}

function decoded(bytes: readonly number[]): string {
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let result = ''
  let code = ''
  for (const bit of bits) {
    code += bit
    const character = CODES.get(code)
    if (character === undefined) continue
    result += character
    code = ''
  }
  if (code.length > 7 || code.includes('0')) throw new Error('padding')
  return result
}
