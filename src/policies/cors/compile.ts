import type { Exchange } from '../../exchange/exchange.ts'
import { HeaderEdit, NO_EDIT } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Attachments, Part } from '../define.ts'
import { compileOrigins } from '../origins.ts'
import type { Cors } from './schema.ts'

type Field = readonly [name: string, value: string]

/** This policy owns these headers: the values that the backend sets are removed. */
const OWN: readonly string[] = [
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-expose-headers',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-max-age',
]

const VARY_BY_ORIGIN: Field = ['vary', 'Origin']
const VARY_OF_PREFLIGHT: Field = [
  'vary',
  'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
]

const MAX_REMEMBERED = 256

export function compileCors([{ value }]: Attachments<Cors>): Part {
  const isAllowed = compileOrigins(value.allowOrigins)
  const isPublic = value.allowOrigins.includes('*') && !value.allowCredentials
  const editOf = compileEdits(value, isPublic, isAllowed)
  const preflight = compilePreflight(value, isPublic, isAllowed)
  return {
    step: (exchange) => {
      const { method, headers } = exchange.request
      const origin = headers.get('origin')
      if (method === 'OPTIONS' && origin !== undefined) {
        const asked = headers.get('access-control-request-method')
        if (asked !== undefined) return preflight(exchange, origin, asked)
      }
      if (origin !== undefined && isAllowed(origin)) exchange.allowsOrigin = true
      exchange.responseEdit = editOf(origin, exchange.responseEdit)
      return undefined
    },
  }
}

/** Compiles the edit of a response. Equal cases share one edit, so that it is rendered once. */
function compileEdits(
  { allowCredentials, exposeHeaders }: Cors,
  isPublic: boolean,
  isAllowed: (origin: string) => boolean,
): (origin: string | undefined, after: HeaderEdit) => HeaderEdit {
  const exposed = listed(exposeHeaders, allowCredentials, undefined)
  // Without Vary, a cache would serve one origin's response to another.
  const vary = isPublic ? [] : [VARY_BY_ORIGIN]
  const foreign = new HeaderEdit(OWN, vary)
  const allowed = (origin: string) =>
    new HeaderEdit(OWN, [
      ['access-control-allow-origin', isPublic ? '*' : origin],
      ...credentials(allowCredentials),
      ...field('access-control-expose-headers', exposed),
      ...vary,
    ])
  const everyone = allowed('*')
  let remembered = new Map<string, HeaderEdit>()
  let after = NO_EDIT
  return (origin, later) => {
    if (later !== after) {
      after = later
      remembered = new Map()
    }
    const key = !isPublic && origin !== undefined && isAllowed(origin) ? origin : ''
    const known = remembered.get(key)
    if (known !== undefined) return known
    const own = isPublic ? everyone : key === '' ? foreign : allowed(key)
    const edit = own.with(later)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(key, edit)
    return edit
  }
}

function compilePreflight(
  value: Cors,
  isPublic: boolean,
  isAllowed: (origin: string) => boolean,
): (exchange: Exchange, origin: string, asked: string) => Reply {
  const { allowCredentials, allowMethods, allowHeaders, exposeHeaders, maxAge } = value
  // Browsers read it from the actual response; the Gateway API includes it here, too.
  const exposed = listed(exposeHeaders, allowCredentials, undefined)
  // A browser treats a response without the headers as a rejection; nothing else is needed.
  const rejected = { ...preflightReply([VARY_OF_PREFLIGHT]), rejects: 'the origin is not allowed' }
  return ({ request }, origin, requestedMethod) => {
    if (!isAllowed(origin)) return rejected
    const requestedHeaders = request.headers.get('access-control-request-headers')
    return preflightReply([
      ['access-control-allow-origin', isPublic ? '*' : origin],
      ...credentials(allowCredentials),
      ...field(
        'access-control-allow-methods',
        listed(allowMethods, allowCredentials, requestedMethod),
      ),
      ...field(
        'access-control-allow-headers',
        listed(allowHeaders, allowCredentials, requestedHeaders),
      ),
      ...field('access-control-expose-headers', exposed),
      ...field('access-control-max-age', maxAge === undefined ? '' : seconds(maxAge)),
      VARY_OF_PREFLIGHT,
    ])
  }
}

function preflightReply(fields: readonly Field[]): Reply {
  return reply(204, 'cors-preflight', '', new HeaderEdit([], fields))
}

/**
 * Gateway API: browsers do not treat `*` as a wildcard if credentials are allowed, so the requested
 * names are listed instead; names that were not requested cannot be listed.
 */
function listed(names: readonly string[], withCredentials: boolean, asked: string | undefined) {
  if (!names.includes('*')) return names.join(', ')
  if (!withCredentials) return '*'
  if (asked !== undefined && TOKENS.test(asked)) return asked
  return names.filter((name) => name !== '*').join(', ')
}

const TOKENS = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+([ \t]*,[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+)*$/

function credentials(isAllowed: boolean): readonly Field[] {
  return isAllowed ? [['access-control-allow-credentials', 'true']] : []
}

function field(name: string, value: string): readonly Field[] {
  return value === '' ? [] : [[name, value]]
}

function seconds(milliseconds: number): string {
  return String(Math.floor(milliseconds / 1000))
}
