import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from './model.ts'
import { isWithin, originsIn, ownerOf } from './origins.ts'
import type { InvalidPolicy, ValidPolicy } from './policy.ts'

/**
 * Returns the Model with every policy that contains one of these errors made invalid: it denies
 * what it guards and holds the errors. Everything else is the same; parts without changes are the
 * same objects.
 */
export function denyPolicies(model: Model, errors: readonly Diagnostic[]): Model {
  if (errors.length === 0) return model
  const byOwner = Map.groupBy(errors, ({ origin }) => ownerOf(origin))
  const errorsIn = (policy: ValidPolicy): readonly Diagnostic[] => {
    const found = new Set<Diagnostic>()
    for (const origin of originsIn(policy)) {
      for (const one of byOwner.get(ownerOf(origin)) ?? []) {
        if (isWithin(one.origin, origin)) found.add(one)
      }
    }
    return [...found]
  }
  return changed(model, errorsIn) as Model
}

function changed(
  value: unknown,
  errorsIn: (policy: ValidPolicy) => readonly Diagnostic[],
): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isPolicy(value)) {
    const diagnostics = errorsIn(value)
    return diagnostics.length === 0 ? value : invalidated(value, diagnostics)
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => changed(item, errorsIn))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  const entries = Object.entries(value)
  const next = entries.map(([key, member]) => [key, changed(member, errorsIn)] as const)
  const isSame = next.every(([, member], index) => member === entries[index]?.[1])
  return isSame ? value : Object.fromEntries(next)
}

function isPolicy(value: object): value is ValidPolicy {
  return 'state' in value && value.state === 'valid' && 'section' in value && 'kind' in value
}

function invalidated(policy: ValidPolicy, diagnostics: readonly Diagnostic[]): InvalidPolicy {
  const { kind, section, level, policy: name, origin } = policy
  return { state: 'invalid', kind, section, level, policy: name, origin, diagnostics }
}
