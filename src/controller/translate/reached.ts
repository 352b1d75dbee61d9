import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Effects, Reached } from './effects.ts'

/** What a policy comes to at one Gateway, in an order that does not depend on what came first. */
export interface ReachedGateway {
  readonly gateway: string
  readonly overridden: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

interface Entry {
  readonly gateway: string
  readonly reached: Reached
}

/** Which policies reach which Gateways, by the parts of Models that they are attached at. */
export class ReachedPolicies {
  /** Key of a ProxyPolicy → part → what it tells. */
  readonly #entries = new Map<string, Map<object, Entry>>()
  /** Key of a BackendTLSPolicy → part → Gateway. */
  readonly #tls = new Map<string, Map<object, string>>()
  /** Gateway → what is wrong with its Model, by the key of the ProxyPolicy that it is about. */
  readonly #blamed = new Map<string, ReadonlyMap<string, readonly Diagnostic[]>>()
  /** ProxyPolicies whose status may be different. */
  readonly stale = new Set<string>()
  isTlsStale = true

  /** A part of a Gateway's Model is different; `after` undefined: it is no longer there. */
  change(gateway: string, part: object, before?: Effects, after?: Effects): void {
    for (const key of before?.reached.keys() ?? []) this.#delete(this.#entries, key, part)
    for (const [key, reached] of after?.reached ?? []) {
      const known = this.#entries.get(key) ?? new Map<object, Entry>()
      this.#entries.set(key, known.set(part, { gateway, reached }))
      this.stale.add(key)
    }
    for (const key of before?.tls ?? []) this.#delete(this.#tls, key, part)
    for (const key of after?.tls ?? []) {
      const known = this.#tls.get(key) ?? new Map<object, string>()
      this.#tls.set(key, known.set(part, gateway))
    }
    if ((before?.tls.size ?? 0) + (after?.tls.size ?? 0) > 0) this.isTlsStale = true
  }

  /** All that is wrong with the Model of a Gateway. */
  blame(gateway: string, diagnostics: readonly Diagnostic[]): void {
    const before = this.#blamed.get(gateway)
    if (before === undefined && diagnostics.length === 0) return
    const after = Map.groupBy(diagnostics, ({ origin }) =>
      origin.kind === 'object' ? origin.object.replace(/^ProxyPolicy /, '') : '',
    )
    this.#blamed.set(gateway, after)
    for (const key of [...(before?.keys() ?? []), ...after.keys()]) this.stale.add(key)
  }

  /** The Gateways that a policy reaches, by key. */
  of(policy: string): readonly ReachedGateway[] {
    const entries = [...(this.#entries.get(policy)?.values() ?? [])]
    const byGateway = Map.groupBy(entries, ({ gateway }) => gateway)
    return [...byGateway.keys()].sort().map((gateway) => {
      const own = byGateway.get(gateway) ?? []
      const overridden = own.flatMap(({ reached }) => [...reached.overridden])
      const said = own.flatMap(({ reached }) => [...reached.diagnostics])
      const blamed = this.#blamed.get(gateway)?.get(policy) ?? []
      return {
        gateway,
        overridden: [...new Set(overridden)].sort(),
        diagnostics: sorted([...said, ...blamed]),
      }
    })
  }

  ofTls(policy: string): readonly string[] {
    return [...new Set(this.#tls.get(policy)?.values() ?? [])].sort()
  }

  #delete<T>(from: Map<string, Map<object, T>>, key: string, part: object): void {
    const known = from.get(key)
    known?.delete(part)
    if (known?.size === 0) from.delete(key)
    this.stale.add(key)
  }
}

/** The same message from several places is one. */
function sorted(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const byText = new Map(diagnostics.map((one) => [textOf(one), one]))
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}

function textOf({ origin, code, message }: Diagnostic): string {
  return `${origin.kind === 'object' ? `${origin.object} ${origin.field}` : ''} ${code} ${message}`
}
