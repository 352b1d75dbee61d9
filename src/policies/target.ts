import * as z from 'zod'
import type { Endpoint, Target } from '../model/backend.ts'
import { annotate } from './annotations.ts'
import { name, port, scalar } from './scalars.ts'
import { oneOfKeys } from './shapes.ts'

/** The target of `host:`. */
export type HostTarget = Extract<Target, { readonly kind: 'host' | 'unix' }>

export const host = () =>
  scalar<HostTarget>({
    what: 'a host address',
    hint: 'use host:port, a URL such as https://host, or unix:/path/to/socket',
    parse: parseHost,
  })

/** `api:8080`, `10.0.0.7:80`, `[::1]:80`, `https://api.example.com`, `unix:/run/app.sock`. */
export function parseHost(text: string): HostTarget | undefined {
  const socket = /^unix:(\/{2})?(\/.+)$/.exec(text)
  if (socket !== null) return { kind: 'unix', path: socket[2] as string }
  const [, scheme, rest = ''] = /^(?:(https?):\/\/)?([^/]+)\/?$/i.exec(text) ?? []
  const [, named, written] = /^(\[[0-9a-f:.]+\]|[^:[\]\s@?#]+)(?::([0-9]{1,5}))?$/i.exec(rest) ?? []
  if (named === undefined) return undefined
  const lower = scheme?.toLowerCase() as Endpoint['scheme']
  const number = written === undefined ? DEFAULT_PORTS[lower ?? ''] : Number(written)
  if (number === undefined || number < 1 || number > 65_535) return undefined
  const host = named.replace(/^\[|\]$/g, '').toLowerCase()
  if (!/^[a-z0-9_.:-]+$/.test(host)) return undefined
  const endpoint = { kind: 'host', host, port: number } as const
  return lower === undefined ? endpoint : { ...endpoint, scheme: lower }
}

const DEFAULT_PORTS: Readonly<Record<string, number | undefined>> = { http: 80, https: 443 }

export const backendName = () => annotate(name(), { is: 'backend' })

export const service = () =>
  z
    .strictObject({
      name: name().describe('The name of the service, optionally as `namespace/name`.'),
      namespace: name().optional().describe('The namespace of the service.'),
      port: port().describe('The port of the service.'),
    })
    .transform(({ name, namespace, port }) => {
      const [first = '', second] = name.split('/')
      return {
        kind: 'service',
        service: second ?? first,
        namespace: namespace ?? (second === undefined ? 'default' : first),
        port,
      } as const
    })

/** The keys that specify the target; exactly one of them. */
export const targetShape = {
  host: host().optional().describe('The address to call.'),
  service: service().optional().describe('A Kubernetes Service.'),
  backend: backendName().optional().describe('The name of a backend.'),
}

export const TARGET_KEYS = ['host', 'service', 'backend']

export const target = () => oneOfKeys(z.strictObject(targetShape), TARGET_KEYS).transform(toTarget)

export function toTarget(value: z.output<z.ZodObject<typeof targetShape>>): Target {
  const { host, service, backend } = value
  if (host !== undefined) return host
  if (service !== undefined) return service
  return { kind: 'backend', backend: backend as string }
}

/** Replaces the keys that specify the target with `target`. */
export function withTarget<T extends Parameters<typeof toTarget>[0]>({
  host,
  service,
  backend,
  ...rest
}: T) {
  return { target: toTarget({ host, service, backend }), ...rest }
}
