import type { Backend } from '../../model/backend.ts'
import type { Attached } from '../../model/policy.ts'
import { X_GATEWAY_API, type XBackendObject } from '../resources/external.ts'
import { readAuthorities, readCertificate } from './certificates.ts'
import { firstRejection, OK, reject, type Verdict } from './conditions.ts'
import { cleartextHttp2 } from './services.ts'
import { tlsValue } from './tls-value.ts'
import { type ClusterView, complaint, originOf, type Party, type Read, verdictOn } from './view.ts'

/** Why an XBackend cannot be served, independent of its referrers. */
export function verdictOfXBackend(view: ClusterView, read: Read<XBackendObject>): Verdict {
  const content = verdictOn(read.problems)
  if (!content.ok) return content
  if (read.value.spec.protocol === 'MCP') {
    return reject('UnsupportedProtocol', 'MCP servers require a ProxyBackend')
  }
  return tlsOf(view, read).verdict
}

/** A host outside the cluster. */
export function ofXBackend(view: ClusterView, read: Read<XBackendObject>, name: string): Backend {
  const { port, externalHostname, protocol } = read.value.spec
  const origin = originOf(read, 'spec')
  const { policy } = tlsOf(view, read)
  const verdict = verdictOfXBackend(view, read)
  const isHttp2 = protocol === 'HTTP2' || protocol === 'H2C'
  if (!verdict.ok) {
    const diagnostics = [complaint(read, 'spec', 'PC0706', verdict.message)]
    return { kind: 'invalid', name, origin, policies: [], diagnostics }
  }
  const policies = [
    ...(policy === undefined ? [] : [{ ...policy, policy: `backend:${name}`, origin }]),
    ...(isHttp2 ? [cleartextHttp2(name, origin)] : []),
  ]
  const endpoint = { host: externalHostname.hostname.toLowerCase(), port }
  return { kind: 'host', name, origin, policies, endpoints: [endpoint] }
}

type Tls = Omit<Extract<Attached, { readonly state: 'valid' }>, 'policy' | 'origin'>

function tlsOf(
  view: ClusterView,
  { namespace, value }: Read<XBackendObject>,
): { readonly verdict: Verdict; readonly policy?: Tls } {
  const { tls, externalHostname } = value.spec
  if (tls === undefined || tls.mode === 'None') return { verdict: OK }
  const from = { group: X_GATEWAY_API, kind: 'XBackend', namespace }
  const validation = tls.validation ?? { hostname: externalHostname.hostname }
  const { caCertificateRefs = [], wellKnownCACertificates = 'System' } = tls.validation ?? {}
  const reasons = { invalid: 'InvalidCACertificateRef', kind: 'InvalidKind' }
  const read = caCertificateRefs.map((ref) => readAuthorities(view, from, ref, reasons))
  const roots = read.flatMap((one) => (one.ok ? [one.text] : []))
  const isKnown = caCertificateRefs.length > 0 || wellKnownCACertificates === 'System'
  const known = isKnown
    ? OK
    : reject('NoValidCACertificate', 'wellKnownCACertificates must be `System`')
  const client = clientOf(view, from, tls)
  const verdict = firstRejection([known, ...read, client])
  if (!verdict.ok) return { verdict }
  const shown = client.ok ? client.certificate : undefined
  const trusted = roots.length === 0 ? undefined : roots.join('\n')
  return {
    verdict,
    policy: {
      ...{ state: 'valid', kind: 'backendTLS', section: 'backend', level: 'backend' },
      value: tlsValue(validation, trusted, shown),
    },
  }
}

function clientOf(
  view: ClusterView,
  from: Party,
  { mode, clientCertificateRef: ref }: NonNullable<XBackendObject['spec']['tls']>,
): ReturnType<typeof readCertificate> {
  if (mode !== 'ClientAndServer') return { ok: true, certificate: undefined }
  if (ref !== undefined) return readCertificate(view, from, ref)
  return reject('InvalidClientCertificateRef', 'no client certificate is configured')
}
