import type { CatalogSource } from '../model/settings.ts'
import {
  type Catalog,
  type CatalogEntry,
  type Cost,
  compileCatalog,
  formatCost,
  type ModelCatalog,
} from '../protocols/llm/index.ts'
import type { Usage } from '../protocols/llm/usage.ts'

/** The price of a completed call according to the model catalog. */
export interface PricedCall {
  readonly outcome: 'priced' | 'unpriced' | 'unknown-model' | 'no-catalog'
  /** Undefined unless it is priced. */
  readonly cost?: Cost
}

/** Model names come from clients, so the cache is bounded. */
const MAX_REMEMBERED = 10_000

const NO_CATALOG: PricedCall = { outcome: 'no-catalog' }
const UNKNOWN_MODEL: PricedCall = { outcome: 'unknown-model' }
const UNPRICED: PricedCall = { outcome: 'unpriced' }

/** The model catalog in effect, the same for all Programs of a process. */
export class ModelPrices {
  #sources: readonly CatalogSource[] = []
  #catalog: Catalog | undefined
  readonly #remembered = new Map<string, CatalogEntry | undefined>()

  /** These sources price all calls that complete from now on; their source has validated them. */
  update(sources: readonly CatalogSource[]): void {
    if (JSON.stringify(sources) === JSON.stringify(this.#sources)) return
    const catalog = sources.length === 0 ? undefined : compileCatalog(sources.map(catalogOf))
    this.#catalog = catalog
    this.#sources = sources
    this.#remembered.clear()
  }

  /** `providers`: the names that a catalog may use for the provider. */
  find(providers: readonly string[], model: string): CatalogEntry | undefined {
    const catalog = this.#catalog
    if (catalog === undefined || model === '') return undefined
    const key = `${providers[0]} ${model}`
    if (this.#remembered.has(key)) return this.#remembered.get(key)
    let found: CatalogEntry | undefined
    for (const provider of providers) found ??= catalog.find(provider, model)
    if (this.#remembered.size < MAX_REMEMBERED) this.#remembered.set(key, found)
    return found
  }

  /** `models`: the model that responded first, then the model that was called. */
  price(providers: readonly string[], models: readonly string[], usage: Usage): PricedCall {
    if (this.#catalog === undefined) return NO_CATALOG
    const entries = models.flatMap((model) => this.find(providers, model) ?? [])
    for (const entry of entries) {
      const cost = entry.costOf(usage)
      if (cost !== undefined) return { outcome: 'priced', cost }
    }
    return entries.length === 0 ? UNKNOWN_MODEL : UNPRICED
  }
}

function catalogOf(source: CatalogSource): ModelCatalog {
  return ('inline' in source ? source.inline : JSON.parse(source.text)) as ModelCatalog
}

/** As a decimal string: `0.0123`. */
export function formatDollars(cost: bigint): string {
  return formatCost(cost)
}
