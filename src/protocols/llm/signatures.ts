import type { Signature } from './neutral.ts'

/*
 * A signature proves to a provider that reasoning is its own. A client sends it back without
 * inspecting it, so the gateway marks it with its maker in responses and sends it, unmarked and
 * unchanged, only to that provider. Another provider would reject the whole request.
 */

const MARK = 'portcullis.'

export function markSignature({ maker, value }: Signature): string {
  return `${MARK}${encodeURIComponent(maker).replaceAll('.', '%2E')}.${value}`
}

/** A signature without a mark was passed through as bytes, from `unmarkedMaker`. */
export function readSignature(text: string, unmarkedMaker: string): Signature {
  if (!text.startsWith(MARK)) return { maker: unmarkedMaker, value: text }
  const end = text.indexOf('.', MARK.length)
  if (end < 0) return { maker: unmarkedMaker, value: text }
  return { maker: decodeMaker(text.slice(MARK.length, end)), value: text.slice(end + 1) }
}

export function isMarked(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith(MARK)
}

function decodeMaker(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
