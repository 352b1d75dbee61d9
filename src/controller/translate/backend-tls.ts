import type { Attached } from '../../model/policy.ts'
import {
  type BackendTlsPolicyObject,
  backendTlsPolicy,
  type ServiceObject,
} from '../resources/cluster-objects.ts'
import { GATEWAY_API } from '../resources/metadata.ts'
import { readAuthorities } from './certificates.ts'
import {
  type Condition,
  conditionOf,
  firstRejection,
  OK,
  reject,
  type Verdict,
} from './conditions.ts'
import type { Effects } from './effects.ts'
import type { ServicePort } from './services.ts'
import { type ClientMaterial, tlsValue } from './tls-value.ts'
import { type ClusterView, complaint, originOf, type Read, titleOf, verdictOn } from './view.ts'

/** One target of a BackendTLSPolicy; an older policy may already have it. */
interface Entry {
  readonly policy: Read<BackendTlsPolicyObject>
  readonly sectionName: string | undefined
}

/** All BackendTLSPolicies and their statuses. */
export class BackendTlsPolicies {
  readonly #view: ClusterView
  #byService = new Map<string, Entry[]>()
  #losers = new Map<Read, string>()
  #all: readonly Read<BackendTlsPolicyObject>[] = []

  constructor(view: ClusterView) {
    this.#view = view
  }

  get all(): readonly Read<BackendTlsPolicyObject>[] {
    return this.#all
  }

  /** Reads the current policies. */
  update(): void {
    const all = this.#view.all('BackendTLSPolicy', backendTlsPolicy)
    if (all === this.#all) return
    const before = this.#byService
    this.#all = all
    this.#byService = new Map()
    this.#losers = new Map()
    // The oldest comes first, so it keeps a target that a later one also has.
    for (const policy of all) {
      for (const { group, kind, name, sectionName } of policy.value.spec.targetRefs) {
        if (group !== '' || kind !== 'Service') continue
        const key = `${policy.namespace}/${name}`
        const known = this.#byService.get(key) ?? []
        const rival = known.find((one) => one.sectionName === sectionName)
        if (rival === undefined) known.push({ policy, sectionName })
        else this.#losers.set(policy, titleOf(rival.policy))
        this.#byService.set(key, known)
      }
    }
    for (const key of new Set([...before.keys(), ...this.#byService.keys()])) {
      const [old = [], young = []] = [before.get(key), this.#byService.get(key)]
      const isSame =
        old.length === young.length && old.every((one, at) => isSameEntry(one, young[at]))
      if (!isSame) this.#view.cells.touch(`BackendTLSPolicy for ${key}`)
    }
  }

  /** TLS to a port of a Service: for the port, or else for the whole Service. */
  at(
    service: Read<ServiceObject>,
    port: ServicePort,
    client: ClientMaterial | undefined,
    effects: Effects,
  ): Attached | undefined {
    this.#view.cells.read(`BackendTLSPolicy for ${service.key}`)
    const entries = this.#byService.get(service.key) ?? []
    const entry =
      entries.find(({ sectionName }) => sectionName !== undefined && sectionName === port.name) ??
      entries.find(({ sectionName }) => sectionName === undefined)
    if (entry === undefined) return undefined
    const { policy } = entry
    effects.tls.add(policy.key)
    const place = {
      kind: 'backendTLS',
      section: 'backend',
      level: 'backend',
      policy: `backendTLSPolicy:${policy.key}`,
      origin: originOf(policy, 'spec'),
    } as const
    const { verdict, roots } = this.#authorities(policy)
    if (!verdict.ok) {
      const said = complaint(policy, 'spec.validation', 'PC0706', verdict.message)
      return { ...place, state: 'invalid', diagnostics: [said] }
    }
    return {
      ...place,
      state: 'valid',
      value: tlsValue(policy.value.spec.validation, roots, client),
    }
  }

  /** The conditions of a policy, the same for all Gateways that it reaches. */
  conditions(policy: Read<BackendTlsPolicyObject>): readonly Condition[] {
    const winner = this.#losers.get(policy)
    const { verdict, resolved } = this.#authorities(policy)
    const conflict: Verdict =
      winner === undefined ? OK : reject('Conflicted', `${winner} is older and has the same target`)
    return [
      conditionOf('Accepted', firstRejection([conflict, verdict])),
      conditionOf('ResolvedRefs', resolved),
    ]
  }

  /**
   * The Gateways that it reaches, including those where it lost to another policy: their entries
   * report that it has no effect. `reached`: the key of a policy → Gateways where it is effective.
   */
  reachedBy(
    policy: Read<BackendTlsPolicyObject>,
    reached: (policy: string) => readonly string[],
  ): readonly string[] {
    const own = reached(policy.key)
    if (own.length > 0 || !this.#losers.has(policy)) return own
    const keys = policy.value.spec.targetRefs.map(({ name }) => `${policy.namespace}/${name}`)
    const rivals = keys.flatMap((key) => this.#byService.get(key) ?? [])
    return [...new Set(rivals.flatMap((rival) => reached(rival.policy.key)))]
  }

  #authorities(policy: Read<BackendTlsPolicyObject>): {
    readonly verdict: Verdict
    readonly resolved: Verdict
    readonly roots?: string
  } {
    const content = verdictOn(policy.problems, 'Invalid')
    if (!content.ok) return { verdict: content, resolved: OK }
    const [option] = Object.keys(policy.value.spec.options)
    if (option !== undefined) {
      const verdict = reject('Invalid', `spec.options: \`${option}\` is not supported`)
      return { verdict, resolved: OK }
    }
    const { caCertificateRefs, wellKnownCACertificates } = policy.value.spec.validation
    if (caCertificateRefs.length === 0) {
      if (wellKnownCACertificates === 'System') return { verdict: OK, resolved: OK }
      const verdict = reject('Invalid', 'wellKnownCACertificates must be `System`')
      return { verdict, resolved: OK }
    }
    const from = { group: GATEWAY_API, kind: 'BackendTLSPolicy', namespace: policy.namespace }
    const reasons = { invalid: 'InvalidCACertificateRef', kind: 'InvalidKind' }
    const all = caCertificateRefs.map((ref) => readAuthorities(this.#view, from, ref, reasons))
    const texts = all.flatMap((one) => (one.ok ? [one.text] : []))
    const resolved = firstRejection(all)
    if (texts.length > 0) return { verdict: OK, resolved, roots: texts.join('\n') }
    const message = resolved.ok ? '' : resolved.message
    return { verdict: reject('NoValidCACertificate', message), resolved }
  }
}

function isSameEntry(a: Entry, b: Entry | undefined): boolean {
  return a.policy === b?.policy && a.sectionName === b.sectionName
}
