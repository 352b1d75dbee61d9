import type { Usage } from '../usage.ts'
import type { CatalogModel, ModelCatalog, Rates } from './schema.ts'

/** Model prices; compiled once per configuration. */
export interface Catalog {
  find(provider: string, model: string): CatalogEntry | undefined
}

export interface CatalogEntry {
  /** The name of the model in the catalog. */
  readonly name: string
  /** False if a dated or regional name was matched to its family. */
  readonly isExact: boolean
  readonly maxOutputTokens: number | undefined
  /** Returns undefined if the model is known but its price is not. */
  costOf(usage: Usage): Cost | undefined
}

/** In units of 10⁻¹² US dollars, exactly: a rate has six decimals and is per million tokens. */
export interface Cost {
  readonly total: bigint
  readonly input: bigint
  readonly output: bigint
  readonly cacheRead: bigint
  readonly cacheWrite: bigint
  readonly reasoning: bigint
}

/** Later catalogs win, model by model. */
export function compileCatalog(catalogs: readonly ModelCatalog[]): Catalog {
  const providers = new Map<string, Map<string, Priced>>()
  for (const { providers: listed } of catalogs) {
    for (const [provider, { models }] of Object.entries(listed)) {
      const known = providers.get(provider) ?? new Map<string, Priced>()
      providers.set(provider, known)
      for (const [name, model] of Object.entries(models)) known.set(name, new Priced(model))
    }
  }
  return {
    find(provider, model) {
      const models = providers.get(provider)
      if (models === undefined) return undefined
      for (const name of namesOf(model)) {
        const priced = models.get(name)
        if (priced === undefined) continue
        const { maxOutputTokens } = priced
        const isExact = name === model
        return { name, isExact, maxOutputTokens, costOf: (usage) => priced.costOf(usage) }
      }
      return undefined
    },
  }
}

/**
 * Returns the names that a model may have in a catalog, from its own to that of its family. Only
 * dates, revisions and regions are removed: `gpt-4o-mini` is not `gpt-4o`.
 */
export function namesOf(model: string): readonly string[] {
  const names = [model]
  for (let at = 0; at < names.length && names.length < 16; at++) {
    const name = names[at] as string
    for (const [pattern, shorter] of REDUCTIONS) {
      const reduced = name.replace(pattern, shorter)
      if (reduced !== name && reduced !== '' && !names.includes(reduced)) names.push(reduced)
    }
  }
  return names
}

const REDUCTIONS: readonly (readonly [RegExp, string])[] = [
  // -2024-08-06, -20241022, @20241022
  [/[-@](?:19|20)\d\d-?\d\d-?\d\d$/, ''],
  // -preview-09-2025, -preview-05-20, -exp-0827
  [/-(?:preview|exp)(?:-\d\d-\d{2,4}|-\d{4})$/, ''],
  [/-(?:latest|preview|exp)$/, ''],
  // Vertex: -001, @001; Bedrock: -v1:0, -v2
  [/[-@]\d{3}$/, ''],
  [/-v\d+(?::\d+)?$/, ''],
  [/@default$/, ''],
  // Bedrock: region prefixes, and the vendor before the model
  [/^(?:us|eu|apac|jp|au|us-gov|global)\./, ''],
  [/^(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen)\./, ''],
  // Full resource names
  [/^.*\/(?=[^/]+$)/, ''],
]

type RateName = keyof Rates

const RATE_NAMES: readonly RateName[] = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite',
  'reasoning',
  'inputAudio',
  'outputAudio',
]

/** The rate that applies if a rate is not set. */
const FALLBACKS: Readonly<Record<RateName, RateName>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'input',
  cacheWrite: 'input',
  reasoning: 'output',
  inputAudio: 'input',
  outputAudio: 'output',
}

type ExactRates = Partial<Record<RateName, bigint>>

class Priced {
  readonly maxOutputTokens: number | undefined
  /** Highest bound first. */
  readonly #tiers: readonly { readonly over: number; readonly rates: ExactRates }[]

  constructor({ rates = {}, tiers = [], maxOutputTokens }: CatalogModel) {
    this.maxOutputTokens = maxOutputTokens
    // Rates of a tier override those of the tier below it.
    let below = exact(rates)
    const all = [{ over: -1, rates: below }]
    for (const tier of tiers.toSorted((a, b) => a.contextOver - b.contextOver)) {
      below = { ...below, ...exact(tier.rates) }
      all.push({ over: tier.contextOver, rates: below })
    }
    this.#tiers = all.reverse()
  }

  costOf(usage: Usage): Cost | undefined {
    const tier = this.#tiers.find(({ over }) => usage.input > over)
    const rates = tier?.rates ?? {}
    const price = (name: RateName, tokens: number): bigint | undefined => {
      const rate = rates[name] ?? rates[FALLBACKS[name]]
      if (tokens <= 0) return 0n
      return rate === undefined ? undefined : rate * BigInt(tokens)
    }
    const { cacheRead, cacheWrite, reasoning, inputAudio, outputAudio } = usage
    const costs = {
      input: price('input', usage.input - cacheRead - cacheWrite - inputAudio),
      inputAudio: price('inputAudio', inputAudio),
      cacheRead: price('cacheRead', cacheRead),
      cacheWrite: price('cacheWrite', cacheWrite),
      output: price('output', usage.output - reasoning - outputAudio),
      reasoning: price('reasoning', reasoning),
      outputAudio: price('outputAudio', outputAudio),
    }
    let total = 0n
    for (const cost of Object.values(costs)) {
      // One part has no price: the sum of the others would be too low.
      if (cost === undefined) return undefined
      total += cost
    }
    const known = costs as Readonly<Record<RateName, bigint>>
    return {
      total,
      input: known.input + known.inputAudio,
      output: known.output + known.outputAudio,
      cacheRead: known.cacheRead,
      cacheWrite: known.cacheWrite,
      reasoning: known.reasoning,
    }
  }
}

function exact(rates: Rates): ExactRates {
  const parsed: ExactRates = {}
  for (const name of RATE_NAMES) {
    const text = rates[name]
    if (text !== undefined) parsed[name] = parseRate(text)
  }
  return parsed
}

/** In millionths of a dollar; the schema has already validated the format. */
function parseRate(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(6, '0'))
}

/** Formats a cost as a decimal string without trailing zeros: `0.0123`. */
export function formatCost(cost: bigint): string {
  const digits = cost.toString().padStart(13, '0')
  const fraction = digits.slice(-12).replace(/0+$/, '')
  const whole = digits.slice(0, -12)
  return fraction === '' ? whole : `${whole}.${fraction}`
}
