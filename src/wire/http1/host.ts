export interface Authority {
  /** In lower case, IPv6 in brackets, without a trailing dot. */
  readonly host: string
  /** 0 if there is none. */
  readonly port: number
}

// Stricter than RFC 3986 §3.2, but enough for names and addresses: no user, no percent signs, no
// empty labels or ports.
const AUTHORITY =
  /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]*:[0-9a-f:.]*\])(\.?)(?::([1-9][0-9]{0,4}))?$/i

/** Longer than any name of RFC 1035 with its port. */
const MAX_LENGTH = 262

export function parseAuthority(text: string): Authority | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const found = AUTHORITY.exec(text)
  if (found === null) return undefined
  const [, host = '', dot = '', port = '0'] = found
  if ((dot !== '' && host.startsWith('[')) || Number(port) > 65535) return undefined
  return { host: host.toLowerCase(), port: Number(port) }
}
