const PREFIX = '=?base64?'
const SUFFIX = '?='
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Encodes a header value; one that a header cannot contain as is becomes base64 (2026-07-28). */
export function encodeHeaderValue(value: string): string {
  const isPlain = /^[!-~](?:[ -~]*[!-~])?$/.test(value) && !value.startsWith(PREFIX)
  return isPlain ? value : `${PREFIX}${Buffer.from(value, 'utf8').toString('base64')}${SUFFIX}`
}

/** Returns undefined if it claims to be base64 but is not. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return value
  const coded = value.slice(PREFIX.length, -SUFFIX.length)
  if (!BASE64.test(coded)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(coded, 'base64'))
  } catch {
    return undefined
  }
}
