/** The result of converting a file of another gateway, and the parts that were not converted. */
export interface Conversion {
  /** The configuration in the format of a file. */
  readonly document: Readonly<Record<string, unknown>>
  readonly lost: readonly Lost[]
}

/** A part that was not converted. */
export interface Lost {
  /** The line in the source file; undefined if there is no particular one. */
  readonly line: number | undefined
  /** As written in the source file. */
  readonly what: string
  readonly why: string
}

/** A route in the format of a file. */
export interface RouteDraft {
  readonly name: string
  readonly gateways: readonly string[]
  readonly hostnames?: readonly string[]
  readonly matches?: readonly { readonly path: Readonly<Record<string, string>> }[]
  readonly policies?: Readonly<Record<string, unknown>>
  readonly backends?: readonly unknown[]
}

/** Denies everything: an unsupported guard must not leave its place open. */
export const DENY_ALL = { rules: [{ deny: 'true' }] }

export const DENIES = 'the routes that it guards deny all requests until you write a rule for it'

/** Generates unique names for routes and gateways. */
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

/** An expression for whether the client's address is in a network; undefined if it is none. */
export function addressIn(network: string): string | undefined {
  if (!/^[0-9A-Fa-f:.]+(\/\d{1,3})?$/.test(network) || !/[.:]/.test(network)) return undefined
  const bits = network.includes(':') ? 128 : 32
  const range = network.includes('/') ? network : `${network}/${bits}`
  return `cidr('${range}').containsIP(source.address)`
}

/** Removes undefined members, and empty lists and mappings. */
export function compact(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => {
      if (member === undefined) return false
      return typeof member !== 'object' || member === null || Object.keys(member).length > 0
    }),
  )
}

/** `a || b` and `a && b`, simplified if a condition is constant. */
export function anyOf(one: string, other: string): string {
  if (other === 'true') return 'true'
  return other === 'false' ? one : `${one} || (${other})`
}

export function bothOf(one: string, other: string): string {
  if (other === 'false') return 'false'
  return other === 'true' ? one : `${one} && (${other})`
}
