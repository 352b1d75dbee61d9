import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import type { ClientCredential } from '../exchange/identity.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { BadCredential } from './authenticator.ts'
import type { CredentialLocation, SentLocation } from './credential-location.ts'
import { type CompileContext, variablesOf } from './define.ts'
import { editRequest } from './header-steps.ts'

/** Finds the credential of a request, and removes it before the request is forwarded. */
export interface Location {
  /** Undefined if the request has none. */
  find(exchange: Exchange): string | BadCredential | undefined
  remove(exchange: Exchange): void
  readonly credential: ClientCredential
}

type Place = Omit<Location, 'credential'>

/**
 * `field` is the path of the credential's settings in the policy; empty if they are the whole
 * value.
 */
export function compileLocation(
  location: CredentialLocation,
  policy: ValidPolicy,
  field: string,
  context: CompileContext,
): Location {
  if (location.kind !== 'expression') return known(location, locationOf(location))
  const written = `${field === '' ? '' : `${field}.`}location.expression`
  const place = { policy, field: written, result: 'string' } as const
  const evaluate = context.compile(location.expression, place)?.evaluate()
  return known(undefined, {
    find: (exchange) => textOf(evaluate?.(variablesOf(exchange))),
    // An expression computed the credential, so it cannot be located in the request.
    remove: () => {},
  })
}

function known(location: SentLocation | undefined, place: Place): Location {
  const read = (exchange: object) => {
    const found = place.find(exchange as Exchange)
    return typeof found === 'string' ? found : undefined
  }
  return { ...place, credential: { location, read } }
}

/** Whether a request may have this credential: always true if an expression computes it. */
export function maySend(location: CredentialLocation, exchange: Exchange): boolean {
  return location.kind === 'expression' || locationOf(location).find(exchange) !== undefined
}

/** Credentials in the same place are indistinguishable: keeping one keeps the other. */
export function placeOf(location: CredentialLocation): string {
  return location.kind === 'expression' ? '' : `${location.kind} ${location.name}`
}

function locationOf(location: SentLocation): Place {
  switch (location.kind) {
    case 'header': {
      const own = inHeader(location.name, location.prefix)
      const { alsoIn = [] } = location
      return alsoIn.length === 0 ? own : anyOf([own, ...alsoIn.map((name) => inHeader(name, ''))])
    }
    case 'cookie':
      return inCookie(location.name)
    case 'queryParameter':
      return inQuery(location.name)
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

const REPEATED = new BadCredential('repeated', 'the request has several credentials')

/**
 * RFC 9110 §11.1: the scheme is case-insensitive. Repeated headers are joined with a comma, which a
 * token cannot contain: two parsers could choose different values.
 */
function inHeader(name: string, prefix: string): Place {
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
      // Another parser may accept it as a token, so it is a bad credential rather than none.
      if (near.test(value)) return ''
      return later.test(value) ? REPEATED : undefined
    },
    remove: editRequest(edit),
  }
}

/**
 * Two different credentials are rejected like a repeated one: two parsers could choose differently.
 */
function anyOf(places: readonly Place[]): Place {
  return {
    find(exchange) {
      const found = places.flatMap((place) => place.find(exchange) ?? [])
      return new Set(found).size > 1 ? REPEATED : found[0]
    },
    remove(exchange) {
      for (const place of places) place.remove(exchange)
    },
  }
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function inCookie(name: string): Place {
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
      const value = withoutCookie(cookies, name)
      const edit = value === '' ? none : headerEdit({ set: [{ name: 'cookie', value }] })
      exchange.requestEdit = exchange.requestEdit.with(edit)
    },
  }
}

export function withoutCookie(cookies: string, name: string): string {
  const pairs = cookies.split(';').map((pair) => pair.trim())
  return pairs.filter((pair) => pair !== '' && nameOf(pair).trim() !== name).join('; ')
}

/** Cookies as forwarded to the backend: another policy may already have removed one. */
export function cookiesOf({ request, requestEdit }: Exchange, edit = requestEdit): string {
  const set = edit.added.findLast(([name]) => name.toLowerCase() === 'cookie')
  if (set !== undefined) return set[1]
  return edit.removed.includes('cookie') ? '' : (request.headers.get('cookie') ?? '')
}

function inQuery(name: string): Place {
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
    remove: (exchange) => removeParameter(exchange, name),
  }
}

export function removeParameter(exchange: Exchange, name: string): void {
  const pairs = exchange.search.slice(1).split('&')
  const others = pairs.filter((pair) => decode(nameOf(pair)) !== name)
  if (others.length === pairs.length) return
  exchange.search = others.length === 0 ? '' : `?${others.join('&')}`
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
