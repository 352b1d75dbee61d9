import { isHeaderValue } from '../exchange/header-value.ts'

/* Headers that a user-defined service sets in a message. */

export type Header = readonly [name: string, value: string]

/**
 * The gateway sets these itself, since it frames and routes messages, whatever a service returns.
 */
const OWN: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export function isFit([name, value]: Header): boolean {
  return isFitName(name) && isHeaderValue(value)
}

export function isFitName(name: string): boolean {
  return isToken(name) && !OWN.has(name.toLowerCase())
}

function isToken(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)
}

/** The first header that cannot be sent; headers in `OWN` are ignored. */
export function unwritable(headers: readonly Header[]): string | undefined {
  for (const [name, value] of headers) {
    if (!isToken(name)) return 'a header with an invalid name'
    if (!OWN.has(name.toLowerCase()) && !isHeaderValue(value)) return `header ${name}`
  }
  return undefined
}
