/** Just enough of protobuf for one question and one answer: length-delimited fields and numbers. */

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Fields that are written already. */
export type Message = readonly Uint8Array[]

export function text(field: number, value: string): Message {
  return value === '' ? [] : bytes(field, Buffer.from(value, 'utf8'))
}

export function bytes(field: number, value: Uint8Array): Message {
  return [varint(field * 8 + BYTES), varint(value.length), value]
}

export function message(field: number, ...parts: readonly Message[]): Message {
  return bytes(field, Buffer.concat(parts.flat()))
}

/** A whole number that is not negative. */
export function number(field: number, value: number): Message {
  return value === 0 ? [] : [varint(field * 8 + VARINT), varint(value)]
}

export function bool(field: number, value: boolean): Message {
  return [varint(field * 8 + VARINT), varint(value ? 1 : 0)]
}

export function double(field: number, value: number): Message {
  const fixed = Buffer.alloc(8)
  fixed.writeDoubleLE(value)
  return [varint(field * 8 + FIXED64), fixed]
}

/** Each entry of a map is a message of a key and a value. */
export function entries<T>(
  field: number,
  pairs: Iterable<readonly [string, T]>,
  write: (field: number, value: T) => Message,
): Message {
  return [...pairs].flatMap(([key, value]) => message(field, text(1, key), write(2, value)))
}

function varint(value: number): Uint8Array {
  const octets: number[] = []
  let rest = value
  while (rest >= 0x80) {
    octets.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  return Uint8Array.of(...octets, rest)
}

/** A message that was read: numbers by value, all else as octets; each field as often as it came. */
export type Read = ReadonlyMap<number, readonly (number | Uint8Array)[]>

/** Undefined where the octets are no message. */
export function read(source: Uint8Array): Read | undefined {
  const fields = new Map<number, (number | Uint8Array)[]>()
  let at = 0
  const readVarint = (): number | undefined => {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const octet = source[at++]
      if (octet === undefined) return undefined
      // Numbers here are statuses and lengths; what is beyond them need not be exact.
      value += (octet & 0x7f) * 2 ** shift
      if (octet < 0x80) return value
    }
    return undefined
  }
  const take = (length: number | undefined): Uint8Array | undefined => {
    if (length === undefined || length > source.length - at) return undefined
    at += length
    return source.subarray(at - length, at)
  }
  while (at < source.length) {
    const tag = readVarint()
    if (tag === undefined) return undefined
    const kind = tag % 8
    const value =
      kind === VARINT
        ? readVarint()
        : kind === FIXED64
          ? take(8)
          : kind === FIXED32
            ? take(4)
            : kind === BYTES
              ? take(readVarint())
              : undefined
    if (value === undefined) return undefined
    const field = Math.floor(tag / 8)
    const known = fields.get(field)
    if (known === undefined) fields.set(field, [value])
    else known.push(value)
  }
  return fields
}

/** Of a field that came several times the last counts. */
export function numberOf(fields: Read | undefined, field: number): number {
  const value = fields?.get(field)?.at(-1)
  return typeof value === 'number' ? value : 0
}

export function textOf(fields: Read | undefined, field: number): string {
  const value = fields?.get(field)?.at(-1)
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : ''
}

/** Undefined where there is none, or it is no message. */
export function messageOf(fields: Read | undefined, field: number): Read | undefined {
  const value = fields?.get(field)?.at(-1)
  return value instanceof Uint8Array ? read(value) : undefined
}

export function messagesOf(fields: Read | undefined, field: number): readonly Read[] {
  return (fields?.get(field) ?? []).flatMap((value) => {
    const inner = value instanceof Uint8Array ? read(value) : undefined
    return inner === undefined ? [] : [inner]
  })
}

export function textsOf(fields: Read | undefined, field: number): readonly string[] {
  return (fields?.get(field) ?? []).flatMap((value) =>
    value instanceof Uint8Array ? [Buffer.from(value).toString('utf8')] : [],
  )
}

/** Whether what these fields have, where they are there, can be read as messages. */
export function areMessages(fields: Read | undefined, numbers: readonly number[]): boolean {
  return numbers.every((number) =>
    (fields?.get(number) ?? []).every(
      (value) => value instanceof Uint8Array && read(value) !== undefined,
    ),
  )
}
