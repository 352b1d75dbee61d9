import * as z from 'zod'
import type { CatalogSource } from '../../model/settings.ts'
import { type Endpoint, ok } from './define.ts'

const rate = z.string().optional()

const rates = z
  .object({
    input: rate.describe('Prompt tokens.'),
    output: rate.describe('Response tokens.'),
    cacheRead: rate.describe('Tokens read from the prompt cache; absent: the input rate.'),
    cacheWrite: rate.describe('Tokens written to the prompt cache; absent: the input rate.'),
    reasoning: rate.describe('Reasoning tokens; absent: the output rate.'),
    inputAudio: rate.describe('Audio tokens in the prompt; absent: the input rate.'),
    outputAudio: rate.describe('Audio tokens in the response; absent: the output rate.'),
  })
  .meta({ id: 'ModelRates' })

const model = z.object({
  provider: z.string(),
  model: z.string(),
  rates: rates.describe('US dollars per million tokens, as decimal strings.'),
  tiers: z
    .array(
      z.object({
        contextOver: z.int().describe('For prompts with more tokens than this.'),
        rates: rates.describe('Rates that differ from those of shorter prompts.'),
      }),
    )
    .describe('Rates for long prompts, shortest first.'),
  maxOutputTokens: z.int().nullable(),
  from: z
    .object({
      catalog: z.int().describe('The index of the catalog in `config.modelCatalog`.'),
      file: z.string().nullable().describe('The file of the catalog; null: it is inline.'),
    })
    .describe('The catalog that the rates come from; the last one with the model wins.'),
})

const costs = z.object({ models: z.array(model) }).meta({ id: 'ModelCosts' })

type Rated = z.output<typeof model>

/** In the format of `protocols/llm/catalog`; validated by the source. */
interface Catalog {
  readonly providers: Readonly<
    Record<string, { readonly models: Readonly<Record<string, Listed>> }>
  >
}

interface Listed {
  readonly rates?: Rated['rates']
  readonly tiers?: Rated['tiers']
  readonly maxOutputTokens?: number
}

export const LLM_COSTS: Endpoint = {
  method: 'GET',
  path: '/api/llm/costs',
  summary: 'The rates of models in the model catalog, by which calls are priced.',
  role: 'viewer',
  responses: { 200: { description: 'By provider and model.', schema: costs } },
  run: (_, { status }) => ok({ models: ratesOf(status().settings.modelCatalog) }),
}

function ratesOf(sources: readonly CatalogSource[]): readonly Rated[] {
  const byName = new Map<string, Rated>()
  for (const [index, source] of sources.entries()) {
    const from = { catalog: index, file: ('file' in source ? source.file : undefined) ?? null }
    for (const [provider, { models }] of Object.entries(catalogOf(source).providers)) {
      for (const [name, { rates: own = {}, tiers = [], maxOutputTokens }] of Object.entries(
        models,
      )) {
        byName.set(JSON.stringify([provider, name]), {
          provider,
          model: name,
          rates: own,
          tiers: tiers.toSorted((a, b) => a.contextOver - b.contextOver),
          maxOutputTokens: maxOutputTokens ?? null,
          from,
        })
      }
    }
  }
  return [...byName.values()].toSorted(
    (a, b) => compare(a.provider, b.provider) || compare(a.model, b.model),
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function catalogOf(source: CatalogSource): Catalog {
  return ('inline' in source ? source.inline : JSON.parse(source.text)) as unknown as Catalog
}
