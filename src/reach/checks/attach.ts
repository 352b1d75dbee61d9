import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { nearestName } from '../../diagnostics/nearest.ts'
import type { Report } from '../../diagnostics/report.ts'
import type { Attached } from '../../model/policy.ts'
import { POLICY_SCHEMAS } from '../../policies/schema.ts'
import type { Draft, Placed, PlacedRoute, Targeted } from './draft.ts'

/** Adds policies with targets after those written at the target itself, in their own order. */
export function attachPolicies(draft: Draft, report: Report): Draft {
  if (draft.targeted.length === 0) return draft
  const missing = new Set(draft.targeted)
  const byNoun = new Map(
    [...Map.groupBy(draft.targeted, ({ noun }) => noun)].map(([noun, all]) => [
      noun,
      Map.groupBy(all, ({ target }) => target),
    ]),
  )
  const at = (noun: Targeted['noun'], target: string, own: readonly Attached[]) => {
    const found = byNoun.get(noun)?.get(target) ?? []
    for (const one of found) missing.delete(one)
    if (found.length === 0) return own
    return settle(report, own, found)
  }
  const each = <
    P extends Placed<{ readonly name: string; readonly policies: readonly Attached[] }>,
  >(
    noun: Targeted['noun'],
    list: readonly P[],
  ): readonly P[] => {
    if (!byNoun.has(noun)) return list
    return list.map((placed) => {
      const { thing } = placed
      const whole = noun === 'route' ? routeOfRule(placed) : undefined
      const ofOwn = at(noun, thing.name, thing.policies)
      const policies = whole === undefined ? ofOwn : at(noun, whole, ofOwn)
      return policies === thing.policies ? placed : { ...placed, thing: { ...thing, policies } }
    })
  }
  const attached = {
    ...draft,
    gateways: each('gateway', draft.gateways).map(({ thing, place }) => {
      const listeners = thing.listeners.map((listener) => ({
        ...listener,
        policies: at('listener', `${thing.name}/${listener.name}`, listener.policies),
      }))
      return { thing: { ...thing, listeners }, place }
    }),
    routes: each('route', draft.routes),
    tcpRoutes: each('route', draft.tcpRoutes),
    backends: each('backend', draft.backends),
  }
  for (const one of missing) report(targetMissing(draft, one))
  return attached
}

/** Entries with a `ruleName` are rules of one route, which a policy may target as a whole. */
function routeOfRule(placed: PlacedRoute<{ readonly name: string }>): string | undefined {
  const { ruleName, thing } = placed
  if (ruleName === undefined || !thing.name.endsWith(`/${ruleName}`)) return undefined
  return thing.name.slice(0, -ruleName.length - 1)
}

/** If policies do not compose, the first one applies, and the later one is reported. */
function settle(
  report: Report,
  own: readonly Attached[],
  targeted: readonly Targeted[],
): readonly Attached[] {
  const all = [...own]
  for (const { policies, place } of targeted) {
    for (const policy of policies) {
      const isKnown = POLICY_SCHEMAS.find(({ kind }) => kind === policy.kind)
      const first = all.find(
        ({ kind, section }) => kind === policy.kind && section === policy.section,
      )
      if (first !== undefined && isKnown?.composes === false) {
        const said = place.diagnose({
          code: 'PC0311',
          severity: 'warning',
          message: `\`${policy.kind}\` of \`${policy.policy}\` has no effect here`,
          hint: `\`${first.policy}\` sets it at the same level and takes precedence`,
        })
        report(said)
      }
      all.push(policy)
    }
  }
  return all
}

function targetMissing(draft: Draft, { noun, target, place }: Targeted): Diagnostic {
  const names = namesOf(draft, noun)
  const meant = nearestName(target, names)
  return place.diagnose({
    code: 'PC0314',
    message: `unknown ${noun} \`${target}\``,
    hint:
      meant !== undefined
        ? `did you mean \`${meant}\`?`
        : names.length === 0
          ? 'none are defined'
          : `available: ${names.slice(0, 12).join(', ')}`,
  })
}

function namesOf(draft: Draft, noun: Targeted['noun']): readonly string[] {
  switch (noun) {
    case 'gateway':
      return draft.gateways.map(({ thing }) => thing.name)
    case 'listener':
      return draft.gateways.flatMap(({ thing }) =>
        thing.listeners.map((listener) => `${thing.name}/${listener.name}`),
      )
    case 'route':
      return [...draft.routes, ...draft.tcpRoutes].map(({ thing }) => thing.name)
    case 'backend':
      return draft.backends.map(({ thing }) => thing.name)
  }
}
