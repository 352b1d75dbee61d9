/**
 * RFC 7515 §2: no padding, no other characters, and one spelling for the same bytes; a token with
 * two spellings would bypass revocation lists.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
