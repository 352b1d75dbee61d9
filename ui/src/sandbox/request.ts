import { exampleCall } from '../../../src/analysis/decisions/example-call.ts'
import type { Decision } from '../api/shapes.ts'

/** The form fields as typed. */
export interface Hypothetical {
  readonly request: string
  readonly headers: string
  readonly token: string
  readonly source: string
  /** A message in JSON, or any other body. */
  readonly body: string
}

export const NO_REQUEST: Hypothetical = {
  request: 'GET /',
  headers: '',
  token: '',
  source: '',
  body: '',
}

export function fromDecision(decision: Decision): Hypothetical {
  const { method, path, host, source, attributes } = decision
  const { headers: more = {}, body = '' } = exampleCall(decision) ?? {}
  const headers = new Map<string, string>(Object.entries(more))
  if (host !== undefined) headers.set('host', host)
  const claims: Record<string, unknown> = {}
  for (const { name, state, value } of attributes) {
    if (state !== 'shown') continue
    const header = /^request\.headers\['([^']+)'\]$/.exec(name)?.[1]
    if (header !== undefined) headers.set(header, String(value))
    const claim = /^jwt\.(\w+)$/.exec(name)?.[1]
    if (claim !== undefined) claims[claim] = value
  }
  const hasClaims = Object.keys(claims).length > 0
  return {
    request: `${method ?? 'GET'} ${path ?? '/'}`,
    headers: [...headers].map(([name, value]) => `${name}: ${value}`).join('\n'),
    token: hasClaims ? JSON.stringify(claims, undefined, 2) : '',
    source: source.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''),
    body,
  }
}

/** Reads claims from a JWT or JSON; returns an error message if the input is malformed. */
export function readClaims(text: string): Readonly<Record<string, unknown>> | string | undefined {
  const given = text.trim().replace(/^Bearer\s+/i, '')
  if (given === '') return undefined
  try {
    return objectOf(given.startsWith('{') ? given : payloadOf(given))
  } catch {
    return 'Neither a JWT (three parts separated by dots) nor a JSON object.'
  }
}

function objectOf(json: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(json)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError()
  return value as Readonly<Record<string, unknown>>
}

function payloadOf(token: string): string {
  const parts = token.split('.')
  if (parts.length !== 3) throw new TypeError()
  const base64 = (parts[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
