import { type Reply, reply } from '../exchange/reply.ts'
import type { StateMaps } from '../protocols/llm/index.ts'
import { type NamedId, type OpenedId, type StateIds, stateIdsOf } from '../protocols/llm/index.ts'

/**
 * The stored objects that one call references, and whether its caller may use them. All clients
 * share the gateway's account, so a provider would return any object to anyone.
 */
export class ModelState {
  readonly #ids: StateIds
  readonly #caller: string
  readonly #providers: readonly string[]
  /** Keyed by the ID that the client sent. */
  readonly #opened = new Map<string, OpenedId>()
  #unknown: NamedId | undefined
  #first: NamedId | undefined

  constructor(ids: StateIds, caller: string, providers: readonly string[]) {
    this.#ids = ids
    this.#caller = caller
    this.#providers = providers
  }

  /** The client's name for the model that created the response in the path. */
  model: string | undefined

  /** The only provider that stores all of them; undefined if nothing is referenced. */
  get provider(): string | undefined {
    return [...this.#opened.values()][0]?.provider
  }

  /** The first ID that is referenced at all. */
  get first(): NamedId | undefined {
    return this.#first
  }

  /** The first ID that references nothing of this caller. */
  get unknown(): NamedId | undefined {
    return this.#unknown
  }

  /** Opens the IDs in a path; returns a Reply if one is unknown. */
  openPath(ids: readonly string[]): Reply | undefined {
    for (const id of ids) this.#open({ id, param: 'id', isOptional: false })
    this.model = [...this.#opened.values()][0]?.model
    return this.#unknown && unknownState(this.#unknown)
  }

  openBody(body: Readonly<Record<string, unknown>>): void {
    for (const named of stateIdsOf(body)) this.#open(named)
  }

  #open(named: NamedId): void {
    this.#first ??= named
    const opened = this.#ids.open(named.id, this.#caller, this.#providers)
    const isOther = this.provider !== undefined && opened?.provider !== this.provider
    if (opened !== undefined && !isOther) this.#opened.set(named.id, opened)
    else if (!named.isOptional) this.#unknown ??= named
    else this.#hasForeign = true
  }

  /** An ID is removed because the provider must not look it up. */
  #hasForeign = false

  /** Maps IDs for the chosen provider. `model`: the client's name for the requested model. */
  mapsFor(provider: string, model: string, isOfResponses: boolean): StateMaps {
    const owner = { provider, caller: this.#caller }
    const known = new Map([...this.#opened].map(([sealed, { id }]) => [id, sealed]))
    const seal = (id: string, member: string) => {
      const isResponse = member === 'response.id' || (member === 'id' && isOfResponses)
      return this.#ids.seal(id, owner, isResponse && model !== '' ? model : undefined)
    }
    return {
      path: undefined,
      hasIds: this.#opened.size > 0 || this.#hasForeign,
      toProvider: (sealed) => this.#opened.get(sealed)?.id,
      toClient: (id, member) => {
        const own = known.get(id) ?? seal(id, member)
        known.set(id, own)
        return own
      },
    }
  }

  /** Maps the cursor of a list: an unknown cursor means nothing to any provider. */
  openQuery(search: string): string {
    return search.replace(/([?&](?:after|before)=)([^&]*)/g, (all, name: string, value: string) => {
      const opened = this.#ids.open(decode(value), this.#caller, this.#providers)
      return opened === undefined ? all : `${name}${encodeURIComponent(opened.id)}`
    })
  }
}

/** The same for objects of another caller and for objects that do not exist. */
export function unknownState({ id, param }: NamedId): Reply {
  const code = param === 'previous_response_id' ? 'previous_response_not_found' : 'not_found'
  return {
    ...reply(404, 'no-backend'),
    detail: 'unknown-state',
    message: `Nothing with id '${id.slice(0, 200)}' was found (\`${param}\`).`,
    code,
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
