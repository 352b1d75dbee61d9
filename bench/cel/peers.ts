import {
  type CelInput,
  CelScalar,
  celEnv,
  celFunc,
  celMap,
  celMethod,
  parse,
  plan,
} from '@bufbuild/cel'
import { Environment } from '@marcbachmann/cel-js'
import { Cidr, parseCidr } from '../../src/cel/values/cidr.ts'
import { Ip, parseIp } from '../../src/cel/values/ip.ts'
import type { Value } from '../../src/cel/values/value.ts'
import type { Context } from './contexts.ts'

/** One expression in another engine: contexts are prepared in advance, then evaluated. */
export interface Peer {
  readonly name: string
  readonly prepare: (context: Context) => unknown
  readonly compile: (text: string) => (context: unknown) => boolean
}

/** The engine has no host types: addresses stay strings, and parse results are cached. */
const ranges = new Map<string, Cidr | undefined>()
const addresses = new Map<string, Ip | undefined>()

const bufEnv = celEnv({
  funcs: [
    celFunc('cidr', [CelScalar.STRING], CelScalar.STRING, (text) => text),
    celMethod('containsIP', CelScalar.STRING, [CelScalar.STRING], CelScalar.BOOL, function (text) {
      const range = remembered(ranges, String(this), parseCidr)
      const address = remembered(addresses, text, parseIp)
      return range !== undefined && address !== undefined && range.containsIp(address)
    }),
  ],
})

function remembered<T>(
  memory: Map<string, T | undefined>,
  text: string,
  read: (text: string) => T,
) {
  if (!memory.has(text)) memory.set(text, read(text))
  return memory.get(text)
}

const buf: Peer = {
  name: '@bufbuild/cel',
  prepare: (context) => ({
    jwt: bufMap(context.jwt),
    request: bufMap({ ...context.request }),
    source: bufMap(context.source),
  }),
  compile: (text) => {
    const run = plan(bufEnv, parse(text))
    return (context) => run(context as Record<string, CelInput>) === true
  },
}

function bufMap(members: object): CelInput {
  return celMap(new Map(Object.entries(members).map(([key, value]) => [key, bufValue(value)])))
}

function bufValue(value: Value): CelInput {
  if (typeof value === 'number') return BigInt(value)
  if (Array.isArray(value)) return value.map(bufValue)
  return typeof value === 'object' && value !== null ? bufMap(value) : (value as CelInput)
}

const marcEnv = new Environment({ unlistedVariablesAreDyn: false })
  .registerType('Ip', Ip)
  .registerType('Cidr', Cidr)
  .registerVariable('jwt', 'map')
  .registerVariable('request', 'map')
  .registerVariable('source', 'map')
  .registerFunction('cidr(string): Cidr', (text: string) => parseCidr(text))
  .registerFunction('Cidr.containsIP(Ip): bool', (range: Cidr, ip: Ip) => range.containsIp(ip))

const marc: Peer = {
  name: '@marcbachmann/cel-js',
  prepare: ({ jwt, request, source }) => ({
    jwt: marcValue(jwt),
    request,
    source: { address: parseIp(source.address) },
  }),
  compile: (text) => {
    const run = marcEnv.parse(text)
    return (context) => {
      try {
        return run(context as Record<string, unknown>) === true
      } catch {
        return false
      }
    }
  },
}

function marcValue(value: Value): unknown {
  if (typeof value === 'number') return BigInt(value)
  if (Array.isArray(value)) return value.map(marcValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, marcValue(v as Value)]))
}

export const PEERS: readonly Peer[] = [buf, marc]
