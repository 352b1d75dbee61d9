const INITIAL = 1024

/** Wire types of protobuf. */
const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Writes protobuf messages, one field after the other. Fields are written even if they are 0. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(INITIAL)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** A copy of what was written since the last call. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.#length)
    taken.set(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    return taken
  }

  /** A whole number that is not negative. */
  uint(field: number, value: number): void {
    this.#tag(field, VARINT)
    this.#varint(value)
  }

  bool(field: number, value: boolean): void {
    this.uint(field, value ? 1 : 0)
  }

  /** int64, where negative numbers take ten bytes. */
  int(field: number, value: number | bigint): void {
    this.#tag(field, VARINT)
    if (typeof value === 'number' && value >= 0) this.#varint(value)
    else this.#bigVarint(BigInt.asUintN(64, BigInt(value)))
  }

  /** sint32 and sint64, in zigzag form. */
  sint(field: number, value: number): void {
    this.#tag(field, VARINT)
    this.#varint(value >= 0 ? value * 2 : -value * 2 - 1)
  }

  double(field: number, value: number): void {
    this.#tag(field, FIXED64)
    this.#reserve(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  fixed64(field: number, value: bigint): void {
    this.#tag(field, FIXED64)
    this.#reserve(8)
    this.#length = this.#bytes.writeBigUInt64LE(value, this.#length)
  }

  fixed32(field: number, value: number): void {
    this.#tag(field, FIXED32)
    this.#reserve(4)
    this.#length = this.#bytes.writeUInt32LE(value, this.#length)
  }

  string(field: number, text: string): void {
    if (text.length < 0x80 && this.#shortAscii(field, text)) return
    const size = Buffer.byteLength(text)
    this.#tag(field, BYTES)
    this.#varint(size)
    this.#reserve(size)
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** Fields that are encoded already. */
  append(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** Bytes that are given as hexadecimal digits. */
  hex(field: number, digits: string): void {
    const size = digits.length / 2
    this.#tag(field, BYTES)
    this.#varint(size)
    this.#reserve(size)
    this.#length += this.#bytes.write(digits, this.#length, 'hex')
  }

  /** Begins a message within; what is written until `end` belongs to it. */
  begin(field: number): number {
    this.#tag(field, BYTES)
    return this.open()
  }

  /** Begins a message that stands behind its length alone. */
  open(): number {
    this.#reserve(1)
    return ++this.#length
  }

  /** Ends the message that began here. Its length is known only now: longer ones make room. */
  end(start: number): void {
    const size = this.#length - start
    const extra = varintLength(size) - 1
    if (extra > 0) {
      this.#reserve(extra)
      this.#bytes.copyWithin(start + extra, start, this.#length)
    }
    this.#length = start - 1
    this.#varint(size)
    this.#length = start + extra + size
  }

  /** Most strings are short and ASCII: a loop here costs less than a call of native code. */
  #shortAscii(field: number, text: string): boolean {
    const start = this.#length
    this.#tag(field, BYTES)
    this.#reserve(text.length + 1)
    this.#bytes[this.#length++] = text.length
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code >= 0x80) {
        this.#length = start
        return false
      }
      this.#bytes[this.#length++] = code
    }
    return true
  }

  #tag(field: number, wireType: number): void {
    this.#varint(field * 8 + wireType)
  }

  #varint(value: number): void {
    this.#reserve(10)
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  #bigVarint(value: bigint): void {
    this.#reserve(10)
    let rest = value
    while (rest >= 0x80n) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.#bytes[this.#length++] = Number(rest)
  }

  #reserve(size: number): void {
    const needed = this.#length + size
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}
