import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

const { Varint, Bit64, Bit32, LengthDelimited } = WireType

/**
 * Writes a message field by field with the library's writer, without an object for each nested
 * message: for messages that are written on the request path, or by the thousands. Fields are
 * written even if they are 0. One writer, with its buffer, serves many messages.
 */
export class FieldWriter {
  readonly #writer = new BinaryWriter()

  /** Returns a copy of what was written since the last call. */
  take(): Uint8Array<ArrayBuffer> {
    return this.#writer.finish()
  }

  /** A non-negative integer. */
  uint(field: number, value: number): void {
    const writer = this.#writer.tag(field, Varint)
    if (value <= 0xffffffff) writer.uint32(value)
    else writer.uint64(value)
  }

  bool(field: number, value: boolean): void {
    this.#writer.tag(field, Varint).bool(value)
  }

  /** int64. */
  int(field: number, value: number | bigint): void {
    const writer = this.#writer.tag(field, Varint)
    // The same bytes, without a bigint.
    if (typeof value === 'number' && value >= 0 && value <= 0xffffffff) writer.uint32(value)
    else writer.int64(value)
  }

  /** sint32 and sint64, whose encoding is the same. */
  sint(field: number, value: number): void {
    const writer = this.#writer.tag(field, Varint)
    if (value === (value | 0)) writer.sint32(value)
    else writer.sint64(value)
  }

  double(field: number, value: number): void {
    this.#writer.tag(field, Bit64).double(value)
  }

  fixed64(field: number, value: bigint): void {
    this.#writer.tag(field, Bit64).fixed64(value)
  }

  fixed32(field: number, value: number): void {
    this.#writer.tag(field, Bit32).fixed32(value)
  }

  string(field: number, text: string): void {
    this.#writer.tag(field, LengthDelimited).string(text)
  }

  /** Bytes given as hexadecimal digits, at most 64. */
  hex(field: number, digits: string): void {
    const length = scratch.write(digits, 'hex')
    this.#writer.tag(field, LengthDelimited).bytes(scratch.subarray(0, length))
  }

  /** Appends fields that are already encoded. */
  append(bytes: Uint8Array): void {
    this.#writer.raw(bytes)
  }

  /** Begins a nested message; everything written until `end` belongs to it. */
  begin(field: number): void {
    this.#writer.tag(field, LengthDelimited).fork()
  }

  /** Begins a message that is preceded only by its length. */
  open(): void {
    this.#writer.fork()
  }

  /** Ends the message that was begun last. */
  end(): void {
    this.#writer.join()
  }
}

const scratch = Buffer.alloc(32)
