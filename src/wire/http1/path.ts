// HOT PATH: most paths are already normalized, which one pass finds out.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-path.plain.ts on any input.
// Liberties: a counted loop before the plain code.

import { mergeSlashes } from '../../exchange/merge-slashes.ts'
import {
  BACKSLASH,
  DEL,
  DOT,
  HASH,
  HEX_VALUE,
  IS_UNRESERVED,
  NUL,
  PERCENT,
  QUESTION,
  SLASH,
  SPACE,
} from './ascii.ts'
import { reject } from './rejections.ts'

/**
 * The one path that rules, routes and the upstream see: dot segments resolved and never above the
 * root, unreserved bytes decoded, other escapes in upper case, then adjacent slashes merged unless
 * they are kept; `;` stays. Returns the same string if nothing changes, and a rejection for a path
 * that other servers may interpret differently.
 */
export function normalisePath(path: string, keepsSlashes = false): string | number {
  let before = 0
  let i = 0
  for (; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code <= SPACE || code >= DEL || code === PERCENT || code === BACKSLASH) break
    if (code === HASH || code === QUESTION) break
    if (before === SLASH && (code === DOT || (code === SLASH && !keepsSlashes))) break
    before = code
  }
  if (i === path.length && path.charCodeAt(0) === SLASH) return path
  if (path.charCodeAt(0) !== SLASH) return reject('bad-path')
  const decoded = decodePath(path)
  if (typeof decoded === 'number') return decoded
  const resolved = resolveSegments(decoded)
  if (typeof resolved === 'number' || keepsSlashes) return resolved
  return mergeSlashes(resolved)
}

function decodePath(path: string): string | number {
  let decoded = ''
  let copied = 0
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code === NUL) return reject('nul-in-path')
    if (code === BACKSLASH) return reject('backslash-in-path')
    if (code <= SPACE || code >= DEL || code === HASH || code === QUESTION)
      return reject('bad-path')
    if (code !== PERCENT) continue
    const byte = byteAt(path, i)
    if (byte < 0) return reject('bad-percent')
    if (byte === NUL) return reject('nul-in-path')
    if (byte === SLASH) return reject('encoded-slash')
    if (byte === BACKSLASH) return reject('backslash-in-path')
    decoded += path.substring(copied, i)
    decoded +=
      IS_UNRESERVED[byte] === 1 ? String.fromCharCode(byte) : path.substring(i, i + 3).toUpperCase()
    i += 2
    copied = i + 1
  }
  decoded += path.substring(copied)
  return OVERLONG.test(decoded) ? reject('bad-percent') : decoded
}

/**
 * RFC 3629 §3: an overlong encoding, such as `%C0%AF`. It is invalid, but some servers decode it to
 * a slash or a dot.
 */
const OVERLONG = /%C[01]%[89AB]|%E0%[89]|%F0%8/

/** The byte that `%xx` at `at` encodes, or -1. */
function byteAt(path: string, at: number): number {
  if (at + 2 >= path.length) return -1
  const high = HEX_VALUE[path.charCodeAt(at + 1)] ?? 16
  const low = HEX_VALUE[path.charCodeAt(at + 2)] ?? 16
  return high < 16 && low < 16 ? high * 16 + low : -1
}

/** RFC 3986 §5.2.4 */
function resolveSegments(path: string): string | number {
  if (!path.includes('/.')) return path
  const kept: string[] = []
  const segments = path.slice(1).split('/')
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i] as string
    // Servers that strip parameters before they resolve dot segments see one here.
    if (/^\.\.?(?:;|%3B)/.test(segment)) return reject('parameter-of-dot-segment')
    const isDot = segment === '.' || segment === '..'
    if (segment === '..') kept.pop()
    if (!isDot) kept.push(segment)
    else if (i === segments.length - 1) kept.push('')
  }
  return `/${kept.join('/')}`
}
