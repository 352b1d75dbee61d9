import { randomBytes } from 'node:crypto'
import type { CompileDeps } from './compile-deps.ts'

/** The default key of this process: sealed values that clients carry do not outlive it. */
let ownKey: Uint8Array | undefined

/** The key that seals IDs that clients carry. */
export function sealKeyOf({ sealKey }: CompileDeps): Uint8Array {
  if (sealKey !== undefined) return sealKey
  ownKey ??= randomBytes(32)
  return ownKey
}
