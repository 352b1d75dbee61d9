import { Socket } from 'node:net'

/*
 * Node reads an accepted socket into a new buffer of 64 KiB each time; only a socket that it opened
 * itself may be told where to read to (`onread`). Below, both are the same: a socket has three
 * properties for it, and its handle takes a buffer. Where any of this is missing, as it may be in
 * another version of Node, the socket is left as it is, and its bytes come by events.
 */

/** What `net.Socket` calls them. */
const NAMES = ['kBuffer', 'kBufferCb', 'kBufferGen'] as const

interface Handle {
  useUserBuffer(buffer: Buffer): number
}

const KEYS = keysOf(new Socket())

function keysOf(socket: Socket): readonly [symbol, symbol, symbol] | undefined {
  const all = Object.getOwnPropertySymbols(socket)
  const [buffer, callback, generator] = NAMES.map((name) =>
    all.find(({ description }) => description === name),
  )
  if (buffer === undefined || callback === undefined || generator === undefined) return undefined
  return [buffer, callback, generator]
}

/**
 * From now on `socket` reads into what `next` returns, which is asked after each read, and
 * `received` is called with the length instead of an event. False: it cannot, and nothing changed.
 */
export function readInto(
  socket: Socket,
  next: () => Buffer,
  received: (length: number) => void,
): boolean {
  const fields = socket as unknown as Record<symbol, unknown> & { readonly _handle?: unknown }
  const handle = fields._handle
  if (KEYS === undefined || !isCapable(handle)) return false
  const [buffer, callback, generator] = KEYS
  if (KEYS.some((key) => fields[key] !== null)) return false
  const first = next()
  if (handle.useUserBuffer(first) !== 0) return false
  // Assigned where it is written, V8 would put it into old space: all that it knows, the whole
  // connection, would outlive every collection of new objects.
  const receive = (length: number) => {
    received(length)
    return true
  }
  // The handle has its address alone: it is this field that keeps it from the garbage collector.
  fields[buffer] = first
  fields[callback] = receive
  fields[generator] = onlyNew(next, first)
  return true
}

/** For one that is closed: what reads it is not held by it any longer. */
export function stopReadingInto(socket: Socket): void {
  const fields = socket as unknown as Record<symbol, unknown>
  for (const key of KEYS ?? []) fields[key] = null
}

/**
 * Node asks for a buffer after each read, and does more for one than for none: where it is still the
 * same, there is none.
 */
export function onlyNew(next: () => Buffer, first?: Buffer): () => Buffer {
  let current = first
  return () => {
    const buffer = next()
    if (buffer === current) return undefined as unknown as Buffer
    current = buffer
    return buffer
  }
}

function isCapable(handle: unknown): handle is Handle {
  return typeof (handle as Partial<Handle> | null | undefined)?.useUserBuffer === 'function'
}
