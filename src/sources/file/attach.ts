import { nearestName } from '../../diagnostics/nearest.ts'
import type { Attached } from '../../model/policy.ts'
import { POLICY_SCHEMAS } from '../../policies/schema.ts'
import { valueAt } from './document.ts'
import type { Draft, Placed, Targeted } from './draft.ts'
import { complain, type Reading } from './reading.ts'

/** Policies of `policies` behind those that were written at the thing itself, in file order. */
export function attachPolicies(reading: Reading, draft: Draft): Draft {
  if (draft.targeted.length === 0) return draft
  const missing = new Set(draft.targeted)
  const byTarget = Map.groupBy(draft.targeted, ({ noun, target }) => `${noun} ${target}`)
  const at = (noun: Targeted['noun'], target: string, own: readonly Attached[]) => {
    const found = byTarget.get(`${noun} ${target}`) ?? []
    for (const one of found) missing.delete(one)
    if (found.length === 0) return own
    return settle(reading, own, found)
  }
  const each = <T extends { readonly name: string; readonly policies: readonly Attached[] }>(
    noun: Targeted['noun'],
    list: readonly Placed<T>[],
  ): readonly Placed<T>[] =>
    list.map((placed) => {
      const { thing, path } = placed
      const whole = noun === 'route' ? routeOfRule(reading, placed) : undefined
      const ofOwn = at(noun, thing.name, thing.policies)
      const policies = whole === undefined ? ofOwn : at(noun, whole, ofOwn)
      return policies === thing.policies ? placed : { thing: { ...thing, policies }, path }
    })
  const attached = {
    ...draft,
    gateways: each('gateway', draft.gateways).map(({ thing, path }) => {
      const listeners = thing.listeners.map((listener) => ({
        ...listener,
        policies: at('listener', `${thing.name}/${listener.name}`, listener.policies),
      }))
      return { thing: { ...thing, listeners }, path }
    }),
    routes: each('route', draft.routes),
    tcpRoutes: each('route', draft.tcpRoutes),
    backends: each('backend', draft.backends),
  }
  for (const one of missing) complainOfTarget(reading, draft, one)
  return attached
}

/** Entries with a `ruleName` are rules of one route, which a policy may be for as a whole. */
function routeOfRule(
  { document }: Reading,
  { thing, path }: Placed<{ readonly name: string }>,
): string | undefined {
  const rule = valueAt(document, [...path, 'ruleName'])
  if (typeof rule !== 'string' || !thing.name.endsWith(`/${rule}`)) return undefined
  return thing.name.slice(0, -rule.length - 1)
}

/** Of what does not add up, the first holds, and the later one is told. */
function settle(
  reading: Reading,
  own: readonly Attached[],
  targeted: readonly Targeted[],
): readonly Attached[] {
  const all = [...own]
  for (const { policies, path } of targeted) {
    for (const policy of policies) {
      const isKnown = POLICY_SCHEMAS.find(({ kind }) => kind === policy.kind)
      const first = all.find(
        ({ kind, section }) => kind === policy.kind && section === policy.section,
      )
      if (first !== undefined && isKnown?.composes === false) {
        complain(reading, path, {
          code: 'PC0311',
          severity: 'warning',
          message: `\`${policy.kind}\` of \`${policy.policy}\` has no effect here`,
          hint: `\`${first.policy}\` sets it at the same level, and stands first`,
        })
      }
      all.push(policy)
    }
  }
  return all
}

function complainOfTarget(reading: Reading, draft: Draft, { noun, target, path }: Targeted): void {
  const names = namesOf(draft, noun)
  const meant = nearestName(target, names)
  complain(reading, path, {
    code: 'PC0314',
    message: `no ${noun} is called \`${target}\``,
    hint:
      meant !== undefined
        ? `did you mean \`${meant}\`?`
        : names.length === 0
          ? 'there is none'
          : `there are: ${names.slice(0, 12).join(', ')}`,
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
