import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { BadCredential } from './authenticator.ts'
import type { CredentialLocation } from './credential-location.ts'
import { type Site, variablesOf } from './define.ts'
import { editRequest } from './header-steps.ts'

/** Where the credential of a request stands, and how to keep it from the backend. */
export interface Location {
  /** Undefined where the request has none. */
  find(exchange: Exchange): string | BadCredential | undefined
  remove(exchange: Exchange): void
}

/** `field` is where in the policy the credential's settings stand; empty where they are all of it. */
export function compileLocation(
  location: CredentialLocation,
  policy: ValidPolicy,
  field: string,
  site: Site,
): Location {
  if (location.kind !== 'expression') return locationOf(location)
  const written = `${field === '' ? '' : `${field}.`}location.expression`
  const place = { policy, field: written, result: 'string' } as const
  const evaluate = site.compile(location.expression, place)?.evaluate()
  return {
    find: (exchange) => textOf(evaluate?.(variablesOf(exchange))),
    // What an expression made of a request cannot be told from the rest of it.
    remove: () => {},
  }
}

/** Credentials of the same place cannot be told apart: who keeps one keeps the other. */
export function placeOf(location: CredentialLocation): string {
  return location.kind === 'expression' ? '' : `${location.kind} ${location.name}`
}

function locationOf(location: Exclude<CredentialLocation, { kind: 'expression' }>): Location {
  switch (location.kind) {
    case 'header':
      return inHeader(location.name, location.prefix)
    case 'cookie':
      return inCookie(location.name)
    case 'queryParameter':
      return inQuery(location.name)
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

const REPEATED = new BadCredential('repeated', 'the request has several')

/**
 * RFC 9110 §11.1: the scheme is case-insensitive. Several headers of the name come as one, with a
 * comma between them, and a token has none: two readers could choose differently.
 */
function inHeader(name: string, prefix: string): Location {
  const edit = headerEdit({ remove: [name] })
  const lower = prefix.toLowerCase()
  const scheme = lower.trimEnd()
  const near = new RegExp(`^\\s*${escapeRegExp(scheme)}(?:[\\s,]|$)`, 'i')
  const later = new RegExp(`,\\s*${escapeRegExp(scheme)}(?:\\s|$)`, 'i')
  return {
    find(exchange) {
      const value = exchange.request.headers.get(name)
      if (value === undefined) return undefined
      if (value.slice(0, prefix.length).toLowerCase() === lower) {
        const token = value.slice(prefix.length).trim()
        return token.includes(',') ? REPEATED : token
      }
      // Another reader may take it for a token; so it is a bad one, and not none.
      if (near.test(value)) return ''
      return later.test(value) ? REPEATED : undefined
    },
    remove: editRequest(edit),
  }
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function inCookie(name: string): Location {
  const isOurs = (pair: string) => nameOf(pair).trim() === name
  const none = headerEdit({ remove: ['cookie'] })
  return {
    find(exchange) {
      const cookies = exchange.request.headers.get('cookie')
      if (cookies === undefined || !cookies.includes(name)) return undefined
      const own = cookies.split(';').filter(isOurs)
      if (own.length > 1) return REPEATED
      const [pair] = own
      return pair === undefined
        ? undefined
        : textBehind(pair)
            .trim()
            .replace(/^"(.*)"$/, '$1')
    },
    remove(exchange) {
      const cookies = cookiesOf(exchange)
      if (!cookies.includes(name)) return
      const others = cookies.split(';').filter((pair) => pair.trim() !== '' && !isOurs(pair))
      const value = others.map((pair) => pair.trim()).join('; ')
      const edit = value === '' ? none : headerEdit({ set: [{ name: 'cookie', value }] })
      exchange.requestEdit = exchange.requestEdit.with(edit)
    },
  }
}

/** As they go to the backend: another policy may have taken one out before. */
function cookiesOf({ request, requestEdit }: Exchange): string {
  const set = requestEdit.added.findLast(([name]) => name.toLowerCase() === 'cookie')
  if (set !== undefined) return set[1]
  return requestEdit.removed.includes('cookie') ? '' : (request.headers.get('cookie') ?? '')
}

function inQuery(name: string): Location {
  const isOurs = (pair: string) => decode(nameOf(pair)) === name
  return {
    find(exchange) {
      const { query } = exchange.request
      if (query === '') return undefined
      const own = query.split('&').filter(isOurs)
      if (own.length > 1) return REPEATED
      const [pair] = own
      return pair === undefined ? undefined : decode(textBehind(pair))
    },
    remove(exchange) {
      const pairs = exchange.search.slice(1).split('&')
      const others = pairs.filter((pair) => !isOurs(pair))
      if (others.length === pairs.length) return
      exchange.search = others.length === 0 ? '' : `?${others.join('&')}`
    },
  }
}

function nameOf(pair: string): string {
  const equals = pair.indexOf('=')
  return equals === -1 ? pair : pair.slice(0, equals)
}

function textBehind(pair: string): string {
  const equals = pair.indexOf('=')
  return equals === -1 ? '' : pair.slice(equals + 1)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
