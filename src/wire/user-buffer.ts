import { Socket } from 'node:net'

/*
 * Node reads an accepted socket into a new buffer of 64 KiB each time; only a socket that it opened
 * itself supports a given buffer (`onread`). Internally, both are the same: a socket has three
 * properties for it, and its handle takes a buffer. If any of this is missing, as it may be in
 * another version of Node, the socket is left unchanged, and its bytes arrive as events.
 */

/** The names of these properties in `net.Socket`. */
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
 * Makes `socket` read into the buffers that `next` returns, which is called after each read;
 * `received` is called with the length instead of an event. Returns false if that is not possible;
 * then nothing has changed.
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
  // If it were assigned inline, V8 would allocate it in old space: everything that it refers to,
  // the whole connection, would survive every scavenge.
  const receive = (length: number) => {
    received(length)
    return true
  }
  // The handle has only its address: this field keeps it from being garbage-collected.
  fields[buffer] = first
  fields[callback] = receive
  fields[generator] = onlyNew(next, first)
  return true
}

/** For a closed socket: it no longer retains its reader. */
export function stopReadingInto(socket: Socket): void {
  const fields = socket as unknown as Record<symbol, unknown>
  for (const key of KEYS ?? []) fields[key] = null
}

/**
 * Returns undefined if the buffer is unchanged: Node calls for one after each read, and does more
 * work if it gets one.
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
