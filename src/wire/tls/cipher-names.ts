/**
 * The OpenSSL names of cipher suites. For TLS 1.2 they differ from the names in the IANA registry
 * (RFC 5289 has `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`); both are accepted.
 */
export function cipherList(names: readonly string[]): string {
  return names.map(openSslName).join(':')
}

function openSslName(name: string): string {
  const parts = /^TLS_(\w+)_WITH_(\w+)$/.exec(name)
  if (parts === null) return name
  const [, exchange = '', cipher = ''] = parts
  const short = cipher
    .replace(/^(AES|CAMELLIA|ARIA)_(128|256)/, '$1$2')
    .replace(/^CHACHA20_POLY1305_SHA256$/, 'CHACHA20_POLY1305')
    .replace('_CBC_SHA', '_SHA')
  // Plain RSA key exchange is omitted from the name.
  const prefix = exchange === 'RSA' ? '' : `${exchange}-`
  return `${prefix}${short}`.replaceAll('_', '-')
}
