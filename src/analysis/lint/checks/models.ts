import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import type { Model } from '../../../model/model.ts'
import { matchesModel } from '../../../model/model-names.ts'
import type { Attached } from '../../../model/policy.ts'
import type { ApiKey } from '../../../policies/api-key/schema.ts'
import type { Authentication } from '../../../policies/authentication/schema.ts'
import { visitPolicies } from '../../../reach/all-layers.ts'
import type { Check } from '../check.ts'
import { listed } from '../place.ts'

/** Max number of names listed in a hint. */
const MAX_LISTED = 8

/** AZ035: an API key is limited to a model that does not exist. */
export const unknownModels: Check = function* ({ model }) {
  const names = namesIn(model)
  if (names === undefined) return
  const seen = new Set<Attached>()
  visitPolicies(model, (policies) => {
    for (const policy of policies) seen.add(policy)
  })
  for (const policy of seen) {
    const unknown = new Set(
      keysOf(policy)
        .flatMap(({ allowedModels = [] }) => allowedModels)
        .filter((one) => !names.some((name) => matchesModel(one, name) || matchesModel(name, one))),
    )
    for (const name of unknown) yield { diagnostic: unknownModel(name, policy, names) }
  }
}

function unknownModel(name: string, { origin }: Attached, names: readonly string[]): Diagnostic {
  const message = `unknown model \`${name}\` in \`allowedModels\``
  const hint = `available: ${listed(names, MAX_LISTED)}`
  return { code: 'AZ035', severity: 'warning', message, hint, origin }
}

/** The names that clients can use; undefined if a backend serves any. */
function namesIn({ backends }: Model): readonly string[] | undefined {
  const served = backends.filter(({ kind }) => kind === 'ai' || kind === 'invalid')
  if (served.length === 0) return undefined
  const names: string[] = []
  for (const backend of served) {
    if (backend.kind !== 'ai' || backend.models === undefined) return undefined
    for (const { name, isInternal } of backend.models) if (!isInternal) names.push(name)
    for (const { name } of backend.virtualModels ?? []) names.push(name)
  }
  return names
}

function keysOf(policy: Attached): ApiKey['keys'] {
  if (policy.state !== 'valid') return []
  const { kind, value } = policy
  if (kind === 'apiKey') return (value as ApiKey).keys
  if (kind !== 'authentication') return []
  const members = (value as Authentication).anyOf
  return members.flatMap((one) => (one.kind === 'apiKey' ? (one.value as ApiKey).keys : []))
}
