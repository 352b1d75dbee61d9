import type { Cidr } from '../../../cel/values/cidr.ts'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { type AiBackend, type AiProvider, partsOf } from '../../../model/backend.ts'
import type { Attached } from '../../../model/policy.ts'
import type { FrontendHttp } from '../../../policies/frontend-http/schema.ts'
import { layersOf } from '../../../reach/all-layers.ts'
import { COMPOSING } from '../../../reach/kinds.ts'
import { decidesAt, RULE_KINDS } from '../../../reach/points.ts'
import { Reach } from '../../../reach/reach.ts'
import { jwtProvidersOf } from '../../jwt-providers.ts'
import { leafOf } from '../../symbolic/leaves.ts'
import type { Check } from '../check.ts'
import { aboutRule } from '../finding.ts'
import { listed } from '../place.ts'
import { signedLeaves } from '../terms.ts'

/** AZ008: rules at a place that no request reaches. */
export const unusedTargets: Check = function* ({ model }) {
  const reach = new Reach(model)
  const used = new Set<string>()
  const reached = new Set<string>()
  for (const where of reach.listeners()) {
    const { name } = where.gateway
    for (const place of reach.rulesOn(where)) {
      reached.add(name)
      for (const { ref } of reach.refsOf(place)) used.add(ref.backend)
    }
    if (!reach.streamsOn(where).next().done) reached.add(name)
  }
  for (const backend of model.backends) {
    const { name } = backend
    const guard = [backend, ...partsOf(backend)]
      .flatMap(({ policies }) => policies)
      .find(({ kind }) => RULE_KINDS.has(kind))
    if (guard === undefined || used.has(name)) continue
    const message = `no route uses backend \`${name}\`: its rules guard nothing`
    yield { diagnostic: unused(guard, message, 'reference it in a route, or remove it') }
  }
  const policiesAt = new Map(layersOf(model).map(({ place, policies }) => [place, policies]))
  for (const { name } of model.gateways) {
    const guard = policiesAt
      .get(`gateway ${name}`)
      ?.find(({ kind, section }) => RULE_KINDS.has(kind) && section !== 'frontend')
    if (guard === undefined || reached.has(name)) continue
    const message = `no route is attached to gateway \`${name}\`: its rules guard nothing`
    yield { diagnostic: unused(guard, message, 'attach a route to it, or remove it') }
  }
}

function unused({ origin }: Attached, message: string, hint: string): Diagnostic {
  return { code: 'AZ008', severity: 'warning', message, hint, origin }
}

/** AZ009: two policies at one place set the same field, so one of them has no effect. */
export const overriddenFields: Check = function* ({ model }) {
  for (const { place, policies } of layersOf(model)) {
    const first = new Map<string, Attached>()
    for (const policy of policies) {
      const key = `${policy.section} ${policy.kind}`
      const winner = first.get(key)
      if (COMPOSING.has(policy.kind)) continue
      if (winner === undefined) {
        first.set(key, policy)
        continue
      }
      yield {
        diagnostic: {
          code: 'AZ009',
          severity: 'error',
          message: `\`${policy.kind}\` of \`${policy.policy}\` has no effect at ${place}: \`${winner.policy}\` also sets it and takes precedence`,
          hint: 'remove one of the two, or attach them at different levels',
          origin: policy.origin,
        },
      }
    }
  }
}

/** AZ036: backends get headers about the client that the client itself wrote. */
export const forgedClients: Check = function* ({ model }) {
  for (const { policies } of layersOf(model)) {
    for (const policy of policies) {
      if (policy.kind !== 'frontendHttp' || policy.state === 'invalid') continue
      const { forwarded, trustedHops = 0 } = policy.value as Partial<FrontendHttp>
      if (forwarded !== 'Preserve' || trustedHops > 0) continue
      yield {
        diagnostic: {
          code: 'AZ036',
          severity: 'warning',
          message:
            '`forwarded: Preserve` without `trustedHops`: clients can forge the address that backends see',
          hint: 'remove `forwarded`, or set `trustedHops` to the number of proxies in front of the gateway',
          origin: policy.origin,
        },
      }
    }
  }
}

/** AZ015: rules test for private addresses where only those of a load balancer are visible. */
export const hiddenAddresses: Check = function* ({ rules }, { exposures }) {
  if (exposures === undefined) return
  for (const { placed, at } of rules) {
    const gateways = at.filter(({ point: { where } }) => {
      const exposure = exposures.get(where.gateway.name)
      return exposure?.type === 'LoadBalancer' && exposure.externalTrafficPolicy === 'Cluster'
    })
    if (gateways.length === 0) continue
    for (const { term } of signedLeaves(placed.condition.term)) {
      const leaf = leafOf(term)
      const ranges = leaf.kind === 'plain' ? (leaf.asks.ranges ?? []) : []
      if (!ranges.some(isPrivate)) continue
      const names = listed(gateways.map(({ point: { where } }) => where.gateway.name))
      const said = {
        code: 'AZ015',
        severity: 'warning',
        message: `behind the load balancer of ${names}, every client may appear to have an address in the cluster`,
        hint: 'set `externalTrafficPolicy: Local` on the Service, or use the PROXY protocol',
      } as const
      yield { diagnostic: aboutRule(said, placed, term) }
      break
    }
  }
}

/** RFC 1918, RFC 6598 and RFC 4193. */
function isPrivate({ ip }: Cidr): boolean {
  return /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|f[cd])/.test(
    ip.text,
  )
}

/** AZ017: tokens that the issuer issued for another audience are accepted, too. */
export const anyAudience: Check = function* ({ model }) {
  for (const { policies } of layersOf(model)) {
    for (const policy of policies) {
      for (const { issuer, audiences } of jwtProvidersOf(policy)) {
        if (audiences.length > 0) continue
        yield {
          diagnostic: {
            code: 'AZ017',
            severity: 'info',
            message: `every token from \`${issuer}\` is accepted, whatever its audience`,
            hint: 'list the accepted `audiences` of the provider',
            origin: policy.origin,
          },
        }
      }
    }
  }
}

/** AZ018: a fallback provider admits requests that its siblings reject. */
export const unguardedProviders: Check = function* ({ model }) {
  for (const backend of model.backends) {
    if (backend.kind !== 'ai') continue
    for (const { providers, of, hint } of interchangeable(backend)) {
      const guarded = providers.filter(isGuardedProvider)
      if (guarded.length === 0) continue
      for (const provider of providers) {
        if (isGuardedProvider(provider)) continue
        yield {
          diagnostic: {
            code: 'AZ018',
            severity: 'warning',
            message: `\`${provider.name}\` has no authorization, unlike ${listed(guarded.map(({ name }) => name))} of the same ${of}: a failover bypasses it`,
            hint,
            origin: provider.origin,
          },
        }
      }
    }
  }
}

/**
 * Providers that can replace each other. A model that clients name is not replaced by another one,
 * but the targets of a virtual model are.
 */
function* interchangeable({ groups, models, virtualModels = [] }: AiBackend) {
  const all = groups.flatMap(({ providers }) => providers)
  if (models === undefined) {
    const hint = 'set the rules on the backend, where they apply to all its providers'
    yield { providers: all, of: 'backend', hint }
    return
  }
  const hint = 'set the rules on each of them, or in `llm.policies`, where they apply to all'
  for (const { name, routing, targets } of virtualModels) {
    // With other routing, a client that is denied one target is not sent to the next.
    if (routing !== 'failover') continue
    const named = new Set(targets.map(({ provider }) => provider))
    const providers = all.filter((one) => named.has(one.name))
    yield { providers, of: `virtual model \`${name}\``, hint }
  }
}

function isGuardedProvider({ policies }: AiProvider): boolean {
  return policies.some((policy) => decidesAt(policy, 'backend'))
}
