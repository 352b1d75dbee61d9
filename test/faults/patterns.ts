/**
 * Bytes that identify their position: each depends on its offset and on its transfer, so lost,
 * duplicated, moved or foreign bytes are detected.
 */
export function fill(seed: number, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  for (let i = 0; i < length; i++) bytes[i] = byteAt(seed, from + i)
  return bytes
}

/** Compares chunks as they arrive. */
export class PatternReader {
  readonly seed: number
  received = 0
  /** The position of the first wrong byte; -1 if there is none. */
  wrongAt = -1

  constructor(seed: number) {
    this.seed = seed
  }

  take(bytes: Buffer): void {
    for (let i = 0; i < bytes.length && this.wrongAt < 0; i++) {
      if (bytes[i] !== byteAt(this.seed, this.received + i)) this.wrongAt = this.received + i
    }
    this.received += bytes.length
  }
}

function byteAt(seed: number, position: number): number {
  const mixed = Math.imul(position ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b)
  return ((mixed >>> 24) ^ (mixed >>> 11)) & 0xff
}

/** Returns a random number generator that repeats its sequence for the same seed. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
