import type { ValidPolicy } from '../model/policy.ts'
import type { AddedMessage, Ai } from '../policies/ai/schema.ts'
import type { AddedPrompts } from '../protocols/llm/added-prompts.ts'
import { markPrompt, type PromptCaching } from '../protocols/llm/prompt-caching.ts'
import type { ProviderOptions } from '../protocols/llm/schema.ts'
import type { TranslatedCall, Translator } from '../protocols/llm/translator.ts'
import type { FieldValues } from './computed-fields.ts'

/* The changes that the policy `ai` makes to calls to a provider: they are known before any call. */

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
  // The prompts of the most specific policy are nearest to the client's messages on both sides.
  const append = all.toReversed().flatMap(({ prompts }) => prompts?.append ?? [])
  const promptCaching = all.findLast((one) => one.promptCaching !== undefined)?.promptCaching
  return {
    ...options,
    defaults: fieldsOf('defaults'),
    overrides: fieldsOf('overrides'),
    modelAliases: fieldsOf('modelAliases'),
    ...(prepend.length + append.length === 0 ? {} : { prompts: { prepend, append } }),
    ...(promptCaching === undefined ? {} : { promptCaching }),
  }
}

/** Whether any of them changes something: `routes` only determines how calls are read. */
export function changesCalls(policies: readonly ValidPolicy[]): boolean {
  return policies.some(({ value }) => Object.keys(value as Ai).some((key) => key !== 'routes'))
}

export function promptsOf({ prompts }: ProviderOptions): AddedPrompts | undefined {
  return prompts as { prepend: AddedMessage[]; append: AddedMessage[] } | undefined
}

/** The call with markers for the provider's prompt cache, if any are configured. */
export function withMarks(
  call: TranslatedCall,
  { provider: dialect }: Translator,
  model: string,
  { promptCaching }: ProviderOptions,
): TranslatedCall {
  if (promptCaching === undefined) return call
  const { request } = call
  const body = markPrompt(dialect, model, request.body, promptCaching as PromptCaching)
  return { ...call, request: { ...request, body } }
}

/** Whether anything is set in calls or added to them. */
export function setsFields({ defaults, overrides, prompts }: ProviderOptions): boolean {
  return defaults !== undefined || overrides !== undefined || prompts !== undefined
}

/** Whether calls that only pass through would miss some of the changes. */
export function changesBodies(
  { defaults = {}, overrides = {}, prompts }: ProviderOptions,
  { model: _, ...computed }: FieldValues,
): boolean {
  return prompts !== undefined || [defaults, overrides, computed].some(hasMembers)
}

function hasMembers(value: unknown): boolean {
  return Object.keys(value as object).length > 0
}

/**
 * The model that is requested from a provider; undefined if as named by the client, empty if it
 * cannot be computed.
 */
export function calledModel(
  { model, modelAliases }: ProviderOptions,
  asked: string,
  computed?: FieldValues,
): string | undefined {
  if (computed !== undefined && 'model' in computed) {
    return typeof computed.model === 'string' ? computed.model : ''
  }
  if (typeof model === 'string') return model
  const aliases = (modelAliases ?? {}) as Readonly<Record<string, string>>
  return Object.hasOwn(aliases, asked) ? aliases[asked] : undefined
}
