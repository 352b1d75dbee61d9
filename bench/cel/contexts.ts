import {
  INT,
  IP,
  JSON_VALUE,
  STRING,
  type StructType,
  type Type,
} from '../../src/cel/check/types.ts'
import { type Ip, parseIp } from '../../src/cel/values/ip.ts'
import { Struct } from '../../src/cel/values/struct.ts'
import type { JsonObject, Value } from '../../src/cel/values/value.ts'

/** A request as plain data, which each engine converts to its own form. */
export interface Context {
  readonly jwt: JsonObject
  readonly request: RequestData
  readonly source: { readonly address: string }
}

export interface RequestData {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** The context for which every expression except e6 is true. */
export const FIXED: Context = context({}, 0)

/** 256 requests with claims and headers in 16 orders, so that no inline cache fits all. */
export const ROTATING: readonly Context[] = Array.from({ length: 256 }, (_, i) => {
  const path = `/api/v1/items/${i * 7919}`
  return context({ path, address: `10.${i}.${(i * 31) % 256}.7`, jti: `token-${i}` }, i % 16)
})

export interface Varied {
  readonly sub?: string
  readonly team?: string
  readonly path?: string
  readonly address?: string
  readonly jti?: string
}

export function context(varied: Varied, order: number): Context {
  const { sub = 'alice', team = 'x', jti = 'token', path = '/api/v1/items' } = varied
  const claims = {
    iss: 'https://issuer.example.com',
    sub,
    aud: 'api',
    exp: 1_800_000_000,
    email: `${sub}@example.com`,
    team,
    groups: ['ops', 'dev', 'eng'],
    jti,
  }
  const headers = {
    host: 'api.example.com',
    accept: 'application/json',
    'user-agent': 'bench/1.0',
    'x-env': 'prod',
    'x-request-id': jti,
  }
  return {
    jwt: asRead(rotated(claims, order)),
    request: asRead({ method: 'GET', path, headers: rotated(headers, order) }),
    source: { address: varied.address ?? '10.1.2.3' },
  }
}

/** Strings as read off the wire: flat, not the ropes that concatenation creates. */
function asRead<T>(data: T): T {
  return JSON.parse(JSON.stringify(data))
}

function rotated<T extends object>(members: T, by: number): T {
  const entries = Object.entries(members)
  const cut = by % entries.length
  const turned = [...entries.slice(cut), ...entries.slice(0, cut)]
  if (by >= entries.length) turned.reverse()
  return Object.fromEntries(turned) as T
}

const HEADERS: Type = { kind: 'map', key: STRING, value: STRING, plain: true }

const REQUEST: StructType = struct('request', { method: STRING, path: STRING, headers: HEADERS })
const SOURCE: StructType = struct('source', { address: IP, port: INT })
const JWT: Type = { kind: 'map', key: STRING, value: JSON_VALUE, plain: true }

export const VARIABLES = [
  variable('jwt', JWT),
  variable('request', REQUEST),
  variable('source', SOURCE),
]

function variable(name: string, type: Type) {
  return { name, type, set: 'always', doc: '' }
}

function struct(name: string, fields: Readonly<Record<string, Type>>): StructType {
  const declared = Object.entries(fields).map(
    ([field, type]) => [field, { type, set: 'always', doc: '' }] as const,
  )
  return { kind: 'struct', name, fields: new Map(declared) }
}

class Request extends Struct {
  readonly structName = 'request'
  readonly fieldNames = REQUEST_FIELDS
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>

  constructor({ method, path, headers }: RequestData) {
    super()
    this.method = method
    this.path = path
    this.headers = headers
  }
}

class Source extends Struct {
  readonly structName = 'source'
  readonly fieldNames = SOURCE_FIELDS
  readonly address: Ip
  readonly port: number

  constructor(address: Ip) {
    super()
    this.address = address
    this.port = 40_000
  }
}

const REQUEST_FIELDS = new Set(REQUEST.fields.keys())
const SOURCE_FIELDS = new Set(SOURCE.fields.keys())

export interface Variables {
  readonly [name: string]: Value | undefined
}

/** The request as the gateway passes it to a rule. */
export function toVariables({ jwt, request, source }: Context): Variables {
  const address = parseIp(source.address) as Ip
  return { jwt, request: new Request(request), source: new Source(address) }
}
