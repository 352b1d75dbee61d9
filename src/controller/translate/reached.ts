import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Effects, Reached } from './effects.ts'

/** The findings about a policy at one Gateway, in a deterministic order. */
export interface ReachedGateway {
  readonly gateway: string
  readonly overridden: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

interface Entry {
  readonly gateway: string
  readonly reached: Reached
}

const NO_GATEWAYS: ReadonlySet<string> = new Set()

/** Which policies reach which Gateways, by the parts of Models where they are attached. */
export class ReachedPolicies {
  /** Key of a ProxyPolicy → part → its findings. */
  readonly #entries = new Map<string, Map<object, Entry>>()
  /** Key of a BackendTLSPolicy → part → Gateway. */
  readonly #tls = new Map<string, Map<object, string>>()
  /** Gateway → diagnostics of its Model, by the key of the ProxyPolicy that caused them. */
  readonly #blamed = new Map<string, ReadonlyMap<string, readonly Diagnostic[]>>()
  /** ProxyPolicies whose status may have changed. */
  readonly stale = new Set<string>()
  isTlsStale = true
  /** `kind namespace/name` of a backend → part → Gateway. */
  readonly #backends = new Map<string, Map<object, string>>()
  areBackendsStale = true

  /** Updates a part of a Gateway's Model; `after` is undefined if the part is gone. */
  change(gateway: string, part: object, before?: Effects, after?: Effects): void {
    for (const key of before?.reached.keys() ?? []) this.#delete(this.#entries, key, part)
    for (const [key, reached] of after?.reached ?? []) {
      const known = this.#entries.get(key) ?? new Map<object, Entry>()
      this.#entries.set(key, known.set(part, { gateway, reached }))
      this.stale.add(key)
    }
    const isTls = this.#move(this.#tls, gateway, part, before?.tls, after?.tls)
    const isBackend = this.#move(this.#backends, gateway, part, before?.backends, after?.backends)
    this.isTlsStale ||= isTls
    this.areBackendsStale ||= isBackend
  }

  /** Sets all diagnostics of a Gateway's Model. */
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

  /** The Gateways that lead to a backend, by `kind namespace/name`. */
  ofBackend(id: string): readonly string[] {
    return [...new Set(this.#backends.get(id)?.values() ?? [])].sort()
  }

  /** Returns whether anything changed. */
  #move(
    map: Map<string, Map<object, string>>,
    gateway: string,
    part: object,
    before: ReadonlySet<string> = NO_GATEWAYS,
    after: ReadonlySet<string> = NO_GATEWAYS,
  ): boolean {
    for (const key of before) this.#delete(map, key, part)
    for (const key of after) {
      const known = map.get(key) ?? new Map<object, string>()
      map.set(key, known.set(part, gateway))
    }
    return before.size + after.size > 0
  }

  #delete<T>(from: Map<string, Map<object, T>>, key: string, part: object): void {
    const known = from.get(key)
    known?.delete(part)
    if (known?.size === 0) from.delete(key)
    this.stale.add(key)
  }
}

/** The same message from several places is reported once. */
function sorted(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const byText = new Map(diagnostics.map((one) => [textOf(one), one]))
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}

function textOf({ origin, code, message }: Diagnostic): string {
  return `${origin.kind === 'object' ? `${origin.object} ${origin.field}` : ''} ${code} ${message}`
}
