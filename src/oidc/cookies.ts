/** RFC 6265 recommends support for 4,096 bytes per cookie, including its name and attributes. */
const CHUNK = 3_600
/** Node rejects request heads of more than 16 KiB. */
const MAX_CHUNKS = 4

export interface CookieOptions {
  /** Sent only over TLS, and bound to its host. */
  readonly isSecure: boolean
  /** In seconds; 0 removes the cookie. */
  readonly maxAge: number
  /** Sent only below this path; by default `/`. */
  readonly path?: string | undefined
}

/** If a name occurs more than once, the first value applies. */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const pair of (header ?? '').split(';')) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim()
    if (at > 0 && !found.has(name)) found.set(name, pair.slice(at + 1).trim())
  }
  return found
}

export function writeCookie(name: string, value: string, options: CookieOptions): string {
  const { isSecure, maxAge, path = '/' } = options
  const more = isSecure ? '; Secure' : ''
  return `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${more}`
}

/** Splits a value into cookies and removes leftover ones; undefined if the value is too long. */
export function writeChunks(
  name: string,
  value: string,
  before: ReadonlyMap<string, string>,
  options: CookieOptions,
): readonly string[] | undefined {
  const count = Math.ceil(value.length / CHUNK)
  if (count > MAX_CHUNKS) return undefined
  const own = Array.from({ length: count }, (_, index) =>
    // The count goes first, so leftovers of a longer value are not mistaken for a part of this one.
    writeCookie(
      `${name}.${index}`,
      `${index === 0 ? `${count}.` : ''}${value.slice(index * CHUNK, (index + 1) * CHUNK)}`,
      options,
    ),
  )
  return [...own, ...clearChunks(name, before, options, count)]
}

export function clearChunks(
  name: string,
  before: ReadonlyMap<string, string>,
  options: CookieOptions,
  from = 0,
): readonly string[] {
  return [...before.keys()]
    .filter((one) => {
      const index = indexOf(name, one)
      return index !== undefined && index >= from
    })
    .map((one) => writeCookie(one, '', { ...options, maxAge: 0 }))
}

export function readChunks(name: string, cookies: ReadonlyMap<string, string>): string | undefined {
  const [, count = '', first = ''] = /^([1-9])\.(.+)$/.exec(cookies.get(`${name}.0`) ?? '') ?? []
  let value = first
  for (let index = 1; index < Number(count); index++) {
    const part = cookies.get(`${name}.${index}`)
    if (part === undefined) return undefined
    value += part
  }
  return value === '' ? undefined : value
}

function indexOf(name: string, cookie: string): number | undefined {
  if (!cookie.startsWith(`${name}.`)) return undefined
  const text = cookie.slice(name.length + 1)
  return /^[0-9]$/.test(text) ? Number(text) : undefined
}
