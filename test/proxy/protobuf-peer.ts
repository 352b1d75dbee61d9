import { globSync } from 'node:fs'
import { join } from 'node:path'
import protobuf from 'protobufjs'

const FOLDER = join(import.meta.dirname, '../../proto')

/** The messages of `proto/`, as an independent implementation of protobuf interprets them. */
const root = new protobuf.Root()
root.resolvePath = (_origin, target) =>
  target.startsWith('google/protobuf/') ? target : join(FOLDER, target)
root.loadSync(globSync('**/*.proto', { cwd: FOLDER }))

/**
 * Decodes a message to an object of its fields, with `defaults` also those that are not set: names
 * in camel case, 64-bit numbers as strings.
 */
export function decodeByPeer<Decoded>(name: string, bytes: Uint8Array, defaults = false): Decoded {
  const type = root.lookupType(name)
  const message = type.decode(Buffer.from(bytes))
  return type.toObject(message, { longs: String, defaults }) as Decoded
}

export function encodeByPeer(name: string, value: object): Buffer {
  const type = root.lookupType(name)
  return Buffer.from(type.encode(type.fromObject(value)).finish())
}

/** Decodes a sequence of messages, each prefixed with its length. */
export function decodeDelimitedByPeer<Decoded>(
  name: string,
  bytes: Uint8Array,
): readonly Decoded[] {
  const type = root.lookupType(name)
  const reader = protobuf.Reader.create(bytes)
  const decoded: Decoded[] = []
  while (reader.pos < reader.len) {
    const message = type.toObject(type.decodeDelimited(reader), { longs: String })
    decoded.push(message as Decoded)
  }
  return decoded
}
