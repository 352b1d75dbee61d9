import type { Signature } from '../../neutral.ts'
import { isMarked, markSignature, readSignature } from '../../signatures.ts'

/* Signatures are bytes here, which clients decode from base64: so are those with a mark. */

export function writeSealed(signature: Signature): string {
  return Buffer.from(markSignature(signature), 'utf8').toString('base64')
}

/** A signature without a mark is from `unmarkedMaker`. */
export function readSealed(text: string, unmarkedMaker: string): Signature {
  const marked = Buffer.from(text, 'base64').toString('utf8')
  return readSignature(isMarked(marked) ? marked : text, unmarkedMaker)
}

export function isSealedByMark(text: unknown): boolean {
  return typeof text === 'string' && isMarked(Buffer.from(text, 'base64').toString('utf8'))
}
