import { addressIn, anyOf, bothOf, DENIES, DENY_ALL, type Lost } from './conversion.ts'

/** An object of gateway.envoyproxy.io. */
export interface EnvoyObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: EnvoySpec
}

interface EnvoySpec {
  readonly targetRef?: EnvoyTarget
  readonly targetRefs?: readonly EnvoyTarget[]
  readonly [key: string]: unknown
}

interface EnvoyTarget {
  readonly kind: string
  readonly name: string
}

interface Document {
  readonly gateways: Record<string, unknown>
  readonly routes: Record<string, unknown>[]
}

export function envoyObjects(all: readonly unknown[]): readonly EnvoyObject[] {
  return all.filter((one): one is EnvoyObject => {
    const version = (one as { apiVersion?: unknown } | null)?.apiVersion
    return typeof version === 'string' && version.startsWith('gateway.envoyproxy.io/')
  })
}

/** SecurityPolicy guards: what of it is not understood denies. Other kinds are only listed. */
export function applySecurityPolicies(
  { routes }: Document,
  objects: readonly EnvoyObject[],
  lost: Lost[],
): void {
  for (const { kind, metadata, spec = {} } of objects) {
    const what = `${kind} ${metadata.name}`
    if (kind !== 'SecurityPolicy') {
      lost.push({ line: undefined, what, why: 'it is not carried over' })
      continue
    }
    const { targetRef, targetRefs = targetRef === undefined ? [] : [targetRef], ...rest } = spec
    const prefix = `${metadata.namespace ?? 'default'}-`
    const targets = routes.filter((route) => {
      const name = String(route['name'])
      return targetRefs.some((target) =>
        target.kind === 'HTTPRoute'
          ? name === `${prefix}${target.name}` ||
            new RegExp(`^${prefix}${target.name}-\\d+$`).test(name)
          : target.kind === 'Gateway' &&
            (route['gateways'] as readonly string[]).some((one) =>
              one.startsWith(`${prefix}${target.name}-`),
            ),
      )
    })
    if (targets.length === 0)
      lost.push({ line: undefined, what, why: 'none of its targets is among the manifests' })
    const policies = policiesOf(rest, what, lost)
    for (const route of targets)
      route['policies'] = { ...(route['policies'] as object), ...policies }
  }
}

function policiesOf(spec: EnvoySpec, what: string, lost: Lost[]): Record<string, unknown> {
  const policies: Record<string, unknown> = {}
  let isDenied = false
  for (const [name, value] of Object.entries(spec)) {
    const written = READERS[name]?.(value as never)
    if (written === undefined) {
      isDenied = true
      lost.push({ line: undefined, what: `${what} ${name}`, why: DENIES })
    } else Object.assign(policies, written)
  }
  return isDenied ? { ...policies, authorization: DENY_ALL } : policies
}

type Reader = (value: never) => Record<string, unknown> | undefined

const READERS: Readonly<Record<string, Reader>> = {
  authorization: (value: {
    defaultAction?: string
    rules?: readonly {
      action: string
      principal?: Record<string, unknown>
      operation?: unknown
      name?: string
    }[]
  }) => {
    // The first that matches decides.
    let rule = value.defaultAction === 'Allow' ? 'true' : 'false'
    for (const { action, principal = {}, operation } of [...(value.rules ?? [])].reverse()) {
      const { clientCIDRs, ...others } = principal as { clientCIDRs?: readonly string[] }
      const networks = clientCIDRs?.map(addressIn) ?? []
      if (operation !== undefined || Object.keys(others).length > 0) return undefined
      if (networks.length === 0 || networks.includes(undefined)) return undefined
      const condition = `(${networks.join(' || ')})`
      if (action === 'Allow') rule = anyOf(condition, rule)
      else if (action === 'Deny') rule = bothOf(`!${condition}`, rule)
      else return undefined
    }
    return { authorization: { rules: [{ require: rule }] } }
  },
  cors: (value: Record<string, unknown>) => {
    const {
      allowOrigins,
      allowMethods,
      allowHeaders,
      exposeHeaders,
      maxAge,
      allowCredentials,
      ...rest
    } = value
    if (Object.keys(rest).length > 0 || maxAge !== undefined) return undefined
    const all = { allowOrigins, allowMethods, allowHeaders, exposeHeaders, allowCredentials }
    return { cors: Object.fromEntries(Object.entries(all).filter(([, one]) => one !== undefined)) }
  },
  jwt: (value: { providers?: readonly Record<string, unknown>[]; optional?: boolean }) => {
    const providers = value.providers?.map(
      ({ name: _, issuer, audiences, remoteJWKS, ...rest }) => {
        const uri = (remoteJWKS as { uri?: string } | undefined)?.uri
        if (Object.keys(rest).length > 0 || uri === undefined || typeof issuer !== 'string')
          return undefined
        return { issuer, jwks: { url: uri }, ...(audiences === undefined ? {} : { audiences }) }
      },
    )
    if (providers === undefined || providers.length === 0 || providers.includes(undefined))
      return undefined
    return {
      jwtAuthentication: { ...(value.optional === true ? { mode: 'Optional' } : {}), providers },
    }
  },
}
