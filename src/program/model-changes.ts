import type { ValidPolicy } from '../model/policy.ts'
import type { AddedMessage, Ai } from '../policies/ai/schema.ts'
import type { AddedPrompts } from '../protocols/llm/added-prompts.ts'
import type { ProviderOptions } from '../protocols/llm/schema.ts'

/* What the policy `ai` changes in calls to a provider: it is known before any call is made. */

/** `policies`: those that reach the provider, the most general first. */
export function changedOptions(
  options: ProviderOptions,
  policies: readonly ValidPolicy[],
): ProviderOptions {
  if (policies.length === 0) return options
  const all = policies.map(({ value }) => value as Ai)
  const fieldsOf = (member: 'defaults' | 'overrides' | 'modelAliases') =>
    Object.assign({}, ...all.map((one) => one[member]), options[member]) as object
  const prepend = all.flatMap(({ prompts }) => prompts?.prepend ?? [])
  // What the most specific one adds is nearest to what the client wrote on both sides.
  const append = all.toReversed().flatMap(({ prompts }) => prompts?.append ?? [])
  return {
    ...options,
    defaults: fieldsOf('defaults'),
    overrides: fieldsOf('overrides'),
    modelAliases: fieldsOf('modelAliases'),
    ...(prepend.length + append.length === 0 ? {} : { prompts: { prepend, append } }),
  }
}

export function promptsOf({ prompts }: ProviderOptions): AddedPrompts | undefined {
  return prompts as { prepend: AddedMessage[]; append: AddedMessage[] } | undefined
}

/** The model that a provider is called for; undefined: as the client named it. */
export function calledModel(
  { model, modelAliases }: ProviderOptions,
  asked: string,
): string | undefined {
  if (typeof model === 'string') return model
  const aliases = (modelAliases ?? {}) as Readonly<Record<string, string>>
  return Object.hasOwn(aliases, asked) ? aliases[asked] : undefined
}
