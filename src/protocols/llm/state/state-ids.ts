import { createHmac, timingSafeEqual } from 'node:crypto'

/** The owner of the object that an ID refers to: no other client may use the ID. */
export interface StateOwner {
  /** The provider's name in the configuration. */
  readonly provider: string
  /** Empty for clients that did not authenticate, which count as one caller. */
  readonly caller: string
}

export interface OpenedId {
  /** The provider's ID. */
  readonly id: string
  readonly provider: string
  /** The client's name for the model that made the response; undefined if it is not known. */
  readonly model: string | undefined
}

/** 132 bits, which cannot be guessed. */
const MAC_LENGTH = 22

/**
 * IDs of objects that a provider stores for a client: a response, a conversation, an item, a
 * container. All clients of the gateway share one account there, so an ID ends with a code that
 * identifies its owner. The same ID always has the same code, since clients compare IDs.
 */
export class StateIds {
  readonly #key: Uint8Array

  /** The key must be the same in every process that opens the IDs of another one. */
  constructor(key: Uint8Array) {
    this.#key = key
  }

  seal(id: string, owner: StateOwner, model?: string): string {
    const end = this.#mac(id, owner, model)
    if (model === undefined) return `${id}.${end}`
    return `${id}.${Buffer.from(model).toString('base64url')}.${end}`
  }

  /** Returns undefined for an ID that was changed or belongs to another caller or provider. */
  open(sealed: string, caller: string, providers: Iterable<string>): OpenedId | undefined {
    const [, rest, mac] = SEALED.exec(sealed) ?? []
    if (rest === undefined || mac === undefined) return undefined
    const forms = [{ id: rest, model: undefined }, ...withModel(rest)]
    for (const provider of providers) {
      for (const { id, model } of forms) {
        if (isEqual(mac, this.#mac(id, { provider, caller }, model))) return { id, provider, model }
      }
    }
    return undefined
  }

  #mac(id: string, { provider, caller }: StateOwner, model: string | undefined): string {
    const bound = JSON.stringify(['model state', provider, caller, model ?? null, id])
    return createHmac('sha256', this.#key).update(bound).digest('base64url').slice(0, MAC_LENGTH)
  }
}

const SEALED = new RegExp(`^(.{1,512})\\.([\\w-]{${MAC_LENGTH}})$`, 's')

function withModel(text: string): readonly { readonly id: string; readonly model: string }[] {
  const dot = text.lastIndexOf('.')
  if (dot < 1) return []
  const model = Buffer.from(text.slice(dot + 1), 'base64url').toString('utf8')
  return [{ id: text.slice(0, dot), model }]
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
