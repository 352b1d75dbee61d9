import type { Exchange } from '../exchange/exchange.ts'
import type { NewPath } from './rewritten-url.ts'

/** Computes the path that replaces that of the request. */
export function compilePath(path: NewPath): (exchange: Exchange) => string {
  const value = encodePath(path.value)
  if (path.kind === 'full') return () => value
  // Gateway API, ReplacePrefixMatch: a trailing slash of either prefix makes no difference.
  const prefix = value.replace(/\/+$/, '')
  return ({ request, matchedPrefix }) => {
    const rest = request.path.slice(matchedPrefix.length)
    return prefix === '' && rest === '' ? '/' : prefix + rest
  }
}

/** RFC 3986 §2.1: characters outside ASCII are sent as percent-encoded UTF-8. */
function encodePath(path: string): string {
  return path.replace(/[^\x21-\x7e]+/g, (text) => encodeURI(text.toWellFormed()))
}
