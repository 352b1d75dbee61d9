import { randomBytes } from 'node:crypto'
import type { CompileDeps } from './compile-deps.ts'

/** By default, of this process: what clients carry does not outlive it then. */
let ownKey: Uint8Array | undefined

/** What seals ids that clients carry. */
export function sealKeyOf({ sealKey }: CompileDeps): Uint8Array {
  if (sealKey !== undefined) return sealKey
  ownKey ??= randomBytes(32)
  return ownKey
}
