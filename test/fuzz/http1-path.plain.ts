import type { RejectionWord } from '../../src/wire/http1/rejections.ts'

/**
 * The reference implementation of src/wire/http1/path.ts: token by token, then segment by segment.
 */
export function plainPath(
  path: string,
  keepsSlashes = false,
): string | { rejected: RejectionWord } {
  if (!path.startsWith('/')) return { rejected: 'bad-path' }
  let decoded = ''
  for (const [token] of path.matchAll(/%[0-9a-f]{2}|./gis)) {
    const lower = token.toLowerCase()
    if (lower === '\0' || lower === '%00') return { rejected: 'nul-in-path' }
    if (lower === '\\' || lower === '%5c') return { rejected: 'backslash-in-path' }
    if (lower === '%2f') return { rejected: 'encoded-slash' }
    if (lower === '%') return { rejected: 'bad-percent' }
    if (/[^\x21-\x7e]|[#?]/.test(token)) return { rejected: 'bad-path' }
    const meant = String.fromCharCode(Number.parseInt(token.slice(1), 16))
    if (token.length === 1) decoded += token
    else decoded += /[-._~0-9A-Za-z]/.test(meant) ? meant : token.toUpperCase()
  }
  if (/%C[01]%[89AB]|%E0%[89]|%F0%8/.test(decoded)) return { rejected: 'bad-percent' }
  const segments = decoded.split('/').slice(1)
  if (segments.some((segment) => /^\.\.?(;|%3B)/.test(segment))) {
    return { rejected: 'parameter-of-dot-segment' }
  }
  const resolved = segments.reduce<string[]>((above, segment) => {
    if (segment === '..') return above.slice(0, -1)
    return segment === '.' ? above : above.concat(segment)
  }, [])
  const endsInside = /^\.\.?$/.test(segments.at(-1) ?? '')
  const all = [...resolved, ...(endsInside ? [''] : [])]
  // Two consecutive slashes enclose an empty segment; only the last segment may be empty.
  const kept = keepsSlashes ? all : all.filter((one, at) => one !== '' || at === all.length - 1)
  return `/${kept.join('/')}`
}
