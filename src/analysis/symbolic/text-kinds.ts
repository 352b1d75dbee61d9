import type { TextKind } from './texts.ts'

/** What texts an attribute can have in a request that the gateway takes. */
export function textKind(steps: readonly string[]): TextKind {
  const [variable, field, name] = steps
  if (variable === 'request') {
    if (field === 'headers' && name !== undefined) return HEADER
    return REQUEST[field ?? ''] ?? ANYTHING
  }
  if (variable === 'destination' && field === 'hostname') return HOST
  return ANYTHING
}

const ANYTHING: TextKind = {
  samples: ['other', 'another', 'x'],
  tails: ['', '-7', 'z'],
  isPossible: () => true,
}

const METHOD: TextKind = {
  samples: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'PURGE'],
  tails: ['', 'X'],
  isPossible: (text) => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text),
}

const PATH: TextKind = {
  samples: ['/', '/other', '/index'],
  tails: ['', 'x', '/x', '20', '0', 'B', 'C'],
  isPossible: isPossiblePath,
}

const QUERY: TextKind = {
  samples: ['', 'a=1', 'q=other'],
  tails: ['', '1', '&z=1'],
  isPossible: (text) => /^[!-"$-~]*$/.test(text),
}

const HOST: TextKind = {
  samples: ['example.com', 'other.example.org', 'host.test'],
  tails: ['', 'z', '.example.com'],
  isPossible: (text) => text !== '' && text === text.toLowerCase() && /^[!-~]+$/.test(text),
}

const HEADER: TextKind = {
  samples: ['other', 'another', '1'],
  tails: ['', '-7', 'z'],
  isPossible: (text) => /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/.test(text),
}

const REQUEST: Readonly<Record<string, TextKind>> = {
  method: METHOD,
  path: PATH,
  query: QUERY,
  host: HOST,
  scheme: { samples: ['http', 'https'], tails: [''], isPossible: (text) => /^https?$/.test(text) },
  version: {
    samples: ['HTTP/1.1', 'HTTP/2'],
    tails: [''],
    isPossible: (text) => text.startsWith('HTTP/'),
  },
}

/**
 * Paths reach rules normalised: no dot segments, nor what some read as one, no escape of what
 * needs none, none of a slash, a backslash or NUL, hexadecimal digits in upper case.
 */
export function isPossiblePath(text: string): boolean {
  if (text === '*') return true
  if (!/^\/(?:[!-"$&->@-[\]-~]|%[0-9A-F]{2})*$/.test(text)) return false
  if (/\/\.{1,2}(?:\/|;|%3B|$)/.test(text)) return false
  return [...text.matchAll(/%(..)/g)].every(([, hex = '']) => {
    const octet = Number.parseInt(hex, 16)
    return !/[A-Za-z0-9\-._~/\\\0]/.test(String.fromCharCode(octet))
  })
}
