/** What a file of another gateway becomes, and what it does not. */
export interface Conversion {
  /** A configuration as it is written in a file. */
  readonly document: Readonly<Record<string, unknown>>
  readonly lost: readonly Lost[]
}

/** Something that could not be carried over. */
export interface Lost {
  /** Of the file that is converted; undefined: nothing of it in particular. */
  readonly line: number | undefined
  /** As it is written there. */
  readonly what: string
  readonly why: string
}

/** A route as it is written in a file. */
export interface RouteDraft {
  readonly name: string
  readonly gateways: readonly string[]
  readonly hostnames?: readonly string[]
  readonly matches?: readonly { readonly path: Readonly<Record<string, string>> }[]
  readonly policies?: Readonly<Record<string, unknown>>
  readonly backends?: readonly unknown[]
}

/** Denies all: what guarded a place and is not understood must not leave it open. */
export const DENY_ALL = { rules: [{ deny: 'true' }] }

export const DENIES = 'the routes that it guards deny all requests until you write a rule for it'

/** Names that routes and gateways may have, each once. */
export class Names {
  readonly #taken = new Set<string>()

  take(wanted: string): string {
    const base = wanted.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '') || 'root'
    let name = base.toLowerCase()
    for (let number = 2; this.#taken.has(name); number++) name = `${base.toLowerCase()}-${number}`
    this.#taken.add(name)
    return name
  }
}

/** Whether the client's address is in a network, as an expression; undefined: no network. */
export function addressIn(network: string): string | undefined {
  if (!/^[0-9A-Fa-f:.]+(\/\d{1,3})?$/.test(network) || !/[.:]/.test(network)) return undefined
  const bits = network.includes(':') ? 128 : 32
  const range = network.includes('/') ? network : `${network}/${bits}`
  return `cidr('${range}').containsIP(source.address)`
}

/** Without members that are undefined, or empty lists and mappings. */
export function compact(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => {
      if (member === undefined) return false
      return typeof member !== 'object' || member === null || Object.keys(member).length > 0
    }),
  )
}

/** `a || b` and `a && b` of conditions, without what is always so. */
export function anyOf(one: string, other: string): string {
  if (other === 'true') return 'true'
  return other === 'false' ? one : `${one} || (${other})`
}

export function bothOf(one: string, other: string): string {
  if (other === 'false') return 'false'
  return other === 'true' ? one : `${one} && (${other})`
}
