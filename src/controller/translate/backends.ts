import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import type { Backend } from '../../model/backend.ts'
import type { Attached } from '../../model/policy.ts'
import { type ServiceObject, service } from '../resources/cluster-objects.ts'
import { PORTCULLIS } from '../resources/metadata.ts'
import { type ProxyBackendObject, proxyBackend } from '../resources/proxy.ts'
import type { ObjectBackendRef } from '../resources/routes.ts'
import type { BackendTlsPolicies, ClientMaterial } from './backend-tls.ts'
import { OK, refuse } from './conditions.ts'
import { readPolicySection } from './policy-section.ts'
import { toProxyBackend } from './proxy-backend.ts'
import { remembered } from './remembered.ts'
import type { ResolvedRef } from './resolved-ref.ts'
import { type Endpoints, isCleartextHttp2 } from './services.ts'
import { type ClusterView, complaint, originOf, type Party, type Read } from './view.ts'

export interface BackendDeps {
  readonly view: ClusterView
  readonly endpoints: Endpoints
  readonly tls: BackendTlsPolicies
  /** Policies for a Service or ProxyBackend, or a part of it. */
  readonly attached: (
    kind: 'Service' | 'ProxyBackend',
    key: string,
    section: string | undefined,
  ) => readonly Attached[]
  readonly client: ClientMaterial | undefined
  /** `namespace/name` */
  readonly gateway: string
}

/** The backends that the routes and policies of one Gateway refer to. */
export class Backends {
  readonly #deps: BackendDeps
  readonly #made = new Map<string, Backend>()

  constructor(deps: BackendDeps) {
    this.#deps = deps
  }

  all(): readonly Backend[] {
    return [...this.#made.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  has(kind: 'Service' | 'ProxyBackend', key: string): boolean {
    const start = `${kind}/${key}`
    return [...this.#made.keys()].some((name) => name === start || name.startsWith(`${start}/`))
  }

  /** What refers to nothing becomes a backend that answers 500 to its share. */
  resolve(from: Party, ref: ObjectBackendRef, origin: Origin): ResolvedRef {
    const namespace = ref.namespace ?? from.namespace
    const { group, kind, name, port } = ref
    const invalid = (reason: string, message: string): ResolvedRef => {
      const id = `invalid/${origin.kind === 'object' ? `${origin.object}/${origin.field}` : ''}`
      const code = reason === 'RefNotPermitted' ? 'PC0703' : 'PC0702'
      const said: Diagnostic = { code, severity: 'error', message, origin }
      this.#add({ name: id, origin, policies: [], kind: 'invalid', diagnostics: [said] })
      return { backend: id, verdict: refuse(reason, message) }
    }
    const isService = group === '' && kind === 'Service'
    if (!isService && (group !== PORTCULLIS || kind !== 'ProxyBackend')) {
      return invalid('InvalidKind', `a backend cannot be a ${kind} of \`${group}\``)
    }
    const what = `${kind} ${namespace}/${name}`
    if (!this.#deps.view.isGranted(from, { group, kind, namespace, name })) {
      return invalid('RefNotPermitted', `no ReferenceGrant in ${namespace} allows ${what}`)
    }
    if (!isService) {
      const found = this.#deps.view.get('ProxyBackend', proxyBackend, namespace, name)
      if (found === undefined) return invalid('BackendNotFound', `there is no ${what}`)
      return { backend: this.#proxyBackend(found), verdict: OK }
    }
    const found = this.#deps.view.get('Service', service, namespace, name)
    if (found === undefined && this.#deps.view.assumesMissing && port !== undefined) {
      this.#deps.view.assume(kind, `${namespace}/${name}`)
      return { backend: this.#assumed(namespace, name, port), verdict: OK }
    }
    if (found === undefined) return invalid('BackendNotFound', `there is no ${what}`)
    if (port === undefined) return invalid('BackendNotFound', `the port of ${what} is not said`)
    const known = found.value.spec.ports.find((one) => one.port === port)
    const isExternal = found.value.spec.type === 'ExternalName'
    if (known === undefined && !isExternal) {
      return invalid('BackendNotFound', `${what} has no port ${port}`)
    }
    return { backend: this.#service(found, known ?? { port, protocol: 'TCP' }), verdict: OK }
  }

  #service(read: Read<ServiceObject>, port: ServiceObject['spec']['ports'][number]): string {
    const name = `Service/${read.key}/${port.port}`
    if (this.#made.has(name)) return name
    const { attached, endpoints, tls, client, gateway } = this.#deps
    const origin = originOf(read, 'spec')
    const ofPort = tls.at(read, port, gateway, client)
    const policies = [
      // The port itself is more specific than the Service.
      ...attached('Service', read.key, String(port.port)),
      ...attached('Service', read.key, undefined),
      ...(ofPort === undefined ? [] : [ofPort]),
      ...(isCleartextHttp2(port) ? [cleartextHttp2(name, origin)] : []),
    ]
    const sources = [...endpoints.sourcesOf(read), ...policies]
    const make = () => ({
      kind: 'host' as const,
      name,
      origin,
      policies,
      endpoints: endpoints.of(read, port),
    })
    this.#add(remembered(read.object, `${gateway} ${name}`, sources, make))
    return name
  }

  /** Somewhere in the cluster, with the policies that are for it. */
  #assumed(namespace: string, service: string, port: number): string {
    const key = `${namespace}/${service}`
    const name = `Service/${key}/${port}`
    const origin = originOf({ kind: 'Service', key }, 'spec')
    const policies = this.#deps.attached('Service', key, undefined)
    const endpoints = [{ host: `${service}.${namespace}.svc.cluster.local`, port }]
    this.#add({ kind: 'host', name, origin, policies, endpoints })
    return name
  }

  #proxyBackend(read: Read<ProxyBackendObject>): string {
    const name = `ProxyBackend/${read.key}`
    if (this.#made.has(name)) return name
    // Holds the place while its policies are read: they may refer to it.
    this.#made.set(name, {
      kind: 'invalid',
      name,
      origin: originOf(read, 'spec'),
      policies: [],
      diagnostics: [],
    })
    const { attached, view } = this.#deps
    const resolve = (ref: ObjectBackendRef, field: string) =>
      this.resolve(
        { group: PORTCULLIS, kind: 'ProxyBackend', namespace: read.namespace },
        ref,
        originOf(read, field),
      )
    const section = (
      value: unknown,
      field: string,
      level: 'backend' | 'provider',
      policy: string,
    ) =>
      readPolicySection({ view, read, resolve }, value, {
        field,
        section: 'backend',
        level,
        policy,
      }).policies
    this.#add(
      toProxyBackend(read, name, {
        section,
        resolve,
        attached: (part) => attached('ProxyBackend', read.key, part),
      }),
    )
    return name
  }

  #add(backend: Backend): void {
    this.#made.set(backend.name, backend)
  }
}

function cleartextHttp2(backend: string, origin: Origin): Attached {
  return {
    state: 'valid',
    kind: 'http',
    section: 'backend',
    level: 'backend',
    policy: `backend:${backend}`,
    origin,
    value: { version: '2', maxResponseHeadSize: 32_768, maxResponseHeaders: 100 },
  }
}

/** Why a ProxyBackend cannot be served, if so. */
export function problemsOf(
  read: Read<ProxyBackendObject>,
  backend: Backend,
): readonly Diagnostic[] {
  if (backend.kind === 'invalid') {
    return backend.diagnostics.length > 0
      ? backend.diagnostics
      : [complaint(read, 'spec', 'PC0704', 'it cannot be served')]
  }
  return []
}
