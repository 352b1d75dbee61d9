import type { Json } from '../../cel/values/json-write.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import {
  bool,
  bytes,
  double,
  entries,
  type Message,
  message,
  messageOf,
  messagesOf,
  numberOf,
  type Read,
  textOf,
} from './protobuf.ts'

/** google.protobuf.Struct: JSON as protobuf has it. */
export function structOf(value: Readonly<Record<string, Json>>): readonly Message[] {
  return [entries(1, Object.entries(value), valueMessage)]
}

function valueMessage(field: number, value: Json): Message {
  // Which of its fields is there says what kind of value it is: also where it is empty.
  if (typeof value === 'string') return message(field, bytes(3, Buffer.from(value, 'utf8')))
  if (typeof value === 'number') return message(field, double(2, value))
  if (typeof value === 'boolean') return message(field, bool(4, value))
  if (value === null) return message(field, bool(1, false))
  if (Array.isArray(value)) {
    return message(field, message(6, ...value.map((item: Json) => valueMessage(1, item))))
  }
  return message(field, message(5, ...structOf(value as Readonly<Record<string, Json>>)))
}

const DEEPEST = 32

/** What a service answered, for expressions. Deeper than anybody means, it is cut off. */
export function readStruct(struct: Read | undefined, depth = 0): JsonObject {
  const members: Record<string, Value> = Object.create(null)
  if (depth > DEEPEST) return members as JsonObject
  for (const entry of messagesOf(struct, 1)) {
    members[textOf(entry, 1)] = readValue(messageOf(entry, 2), depth) as Value
  }
  return members as JsonObject
}

function readValue(value: Read | undefined, depth: number): Value | null {
  if (value === undefined) return null
  if (value.has(3)) return textOf(value, 3)
  if (value.has(4)) return numberOf(value, 4) !== 0
  const number = value.get(2)?.at(-1)
  if (number instanceof Uint8Array) return Buffer.from(number).readDoubleLE(0)
  const struct = messageOf(value, 5)
  if (struct !== undefined) return readStruct(struct, depth + 1)
  const list = messageOf(value, 6)
  if (list === undefined || depth > DEEPEST) return null
  return messagesOf(list, 1).map((item) => readValue(item, depth + 1)) as unknown as Value
}
