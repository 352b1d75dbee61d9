import { scalar } from './scalars.ts'

/** A path that requests can have, in normalized form. */
export const requestPath = () =>
  scalar<string>({
    what: 'a path',
    hint: 'start with a slash; do not use ?, #, the segments . and .., \\ or %2F',
    pattern: /^\/[^\s?#]*$/,
    parse: requestPathOf,
  })

/** A path that the gateway sends. */
export const sentPath = () =>
  scalar<string>({
    what: 'a path',
    hint: 'start with a slash; do not use ? or #',
    pattern: /^\/[^\s?#]*$/,
    parse: encoded,
  })

/** Undefined if a request with this path is rejected, or is matched with a different path. */
function requestPathOf(written: string): string | undefined {
  if (/^\/[^%\\.\u007f-\uffff]*$/.test(written)) return written
  const path = encoded(written)
  if (path === undefined || /\\|%(?![0-9A-Fa-f]{2})|%(?:2F|5C|00)/i.test(path)) return undefined
  const decoded = path.replace(/%[0-9A-Fa-f]{2}/g, (byte) => {
    const character = String.fromCharCode(Number.parseInt(byte.slice(1), 16))
    return /[A-Za-z0-9._~-]/.test(character) ? character : byte.toUpperCase()
  })
  return /\/\.\.?(?:;|%3B|\/|$)/.test(decoded) ? undefined : decoded
}

/** As sent by clients: characters outside ASCII as percent-encoded UTF-8. */
function encoded(written: string): string | undefined {
  if (!written.isWellFormed()) return undefined
  return written.replace(/[\u0080-\uffff]+/g, encodeURIComponent).replace(/\u007f/g, '%7F')
}
