import { createHmac, timingSafeEqual } from 'node:crypto'

/** Who made what an id names: nobody else may name it. */
export interface StateOwner {
  /** Of the provider, as the configuration calls it. */
  readonly provider: string
  /** Empty: clients that did not authenticate, who are one caller. */
  readonly caller: string
}

export interface OpenedId {
  /** As the provider calls it. */
  readonly id: string
  readonly provider: string
  /** What the client called the model that the response was made by; undefined: it is not known. */
  readonly model: string | undefined
}

/** 132 bits, which nobody guesses. */
const MAC_LENGTH = 22

/**
 * Ids of what a provider stores for a client: a response, a conversation, an item, a container. All
 * clients of the gateway share one account there, so an id says by a code at its end whom it belongs
 * to. The same id has the same code every time, since clients compare them.
 */
export class StateIds {
  readonly #key: Uint8Array

  /** The same in every process that is to open what another one sealed. */
  constructor(key: Uint8Array) {
    this.#key = key
  }

  seal(id: string, owner: StateOwner, model?: string): string {
    const end = this.#mac(id, owner, model)
    if (model === undefined) return `${id}.${end}`
    return `${id}.${Buffer.from(model).toString('base64url')}.${end}`
  }

  /** Undefined for what was changed, and for what belongs to another caller or to none of these. */
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
