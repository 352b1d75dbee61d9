/**
 * RFC 7515 §2: no padding, no other characters, and one spelling for the same bytes; a token that
 * can be written in two ways passes by lists of revoked ones.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
