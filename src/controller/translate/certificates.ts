import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Certificate } from '../../model/gateway.ts'
import { sealSecret } from '../../policies/schema.ts'
import { type Rejection, reject } from './conditions.ts'
import type { ClusterView, Party } from './view.ts'

/**
 * The certificate in a Secret, or why there is none. Undefined for a Secret that is assumed to
 * exist: its content is unknown.
 */
export function readCertificate(
  view: ClusterView,
  from: Party,
  ref: {
    readonly group: string
    readonly kind: string
    readonly name: string
    readonly namespace?: string | undefined
  },
  reasons: { readonly invalid: string } = { invalid: 'InvalidCertificateRef' },
): { readonly ok: true; readonly certificate: Certificate | undefined } | Rejection {
  const { invalid } = reasons
  const namespace = ref.namespace ?? from.namespace
  const key = `${namespace}/${ref.name}`
  if (ref.group !== '' || ref.kind !== 'Secret') {
    return reject(
      invalid,
      `a certificate must reference a Secret, not a ${ref.kind} of \`${ref.group}\``,
    )
  }
  if (!view.isGranted(from, { group: '', kind: 'Secret', namespace, name: ref.name })) {
    return reject(
      'RefNotPermitted',
      `no ReferenceGrant in ${namespace} allows the reference to Secret ${key}`,
    )
  }
  const entries = view.secretEntries(namespace, ref.name)
  if (entries === undefined && view.assumesMissing) {
    view.assume('Secret', key)
    return { ok: true, certificate: undefined }
  }
  if (entries === undefined) return reject(invalid, `Secret ${key} not found`)
  const cert = entries.get('tls.crt')
  const secret = entries.get('tls.key')
  if (cert === undefined || secret === undefined) {
    return reject(invalid, `Secret ${key} must contain tls.crt and tls.key`)
  }
  const problem = problemOf(cert, secret)
  if (problem !== undefined) return reject(invalid, `Secret ${key}: ${problem}`)
  return {
    ok: true,
    certificate: { cert: { text: cert }, key: sealSecret(secret, `Secret ${key}`) },
  }
}

/** The CA certificates in the entry `ca.crt` of a ConfigMap or a Secret. */
export function readAuthorities(
  view: ClusterView,
  from: Party,
  ref: {
    readonly group: string
    readonly kind: string
    readonly name: string
    readonly namespace?: string | undefined
  },
  reasons: { readonly invalid: string; readonly kind: string },
): { readonly ok: true; readonly text: string } | Rejection {
  const namespace = ref.namespace ?? from.namespace
  const key = `${namespace}/${ref.name}`
  if (ref.group !== '' || !['ConfigMap', 'Secret'].includes(ref.kind)) {
    return reject(
      reasons.kind,
      `CA certificates must reference a ConfigMap or a Secret, not a ${ref.kind}`,
    )
  }
  if (!view.isGranted(from, { group: '', kind: ref.kind, namespace, name: ref.name })) {
    return reject(
      'RefNotPermitted',
      `no ReferenceGrant in ${namespace} allows the reference to ${ref.kind} ${key}`,
    )
  }
  const entries =
    ref.kind === 'ConfigMap'
      ? view.configEntries(namespace, ref.name)
      : view.secretEntries(namespace, ref.name)
  if (entries === undefined) return reject(reasons.invalid, `${ref.kind} ${key} not found`)
  const text = entries.get('ca.crt')
  if (text === undefined) return reject(reasons.invalid, `${ref.kind} ${key} has no ca.crt`)
  const isGood = certificatesIn(text).every(isCertificate) && certificatesIn(text).length > 0
  if (!isGood)
    return reject(reasons.invalid, `ca.crt of ${ref.kind} ${key} contains no certificate`)
  return { ok: true, text }
}

/** Checking a key is slow, and most Secrets rarely change. */
const CHECKED = new Map<string, string | undefined>()
const MAX_CHECKED = 10_000

function problemOf(cert: string, key: string): string | undefined {
  const both = `${cert}\n${key}`
  if (CHECKED.has(both)) return CHECKED.get(both)
  const problem = look(cert, key)
  if (CHECKED.size >= MAX_CHECKED) CHECKED.clear()
  CHECKED.set(both, problem)
  return problem
}

function look(cert: string, key: string): string | undefined {
  if (certificatesIn(cert).length === 0 || !certificatesIn(cert).every(isCertificate)) {
    return 'tls.crt contains no certificate in PEM format'
  }
  try {
    const own = createPrivateKey(key)
    return new X509Certificate(cert).checkPrivateKey(own)
      ? undefined
      : 'tls.key does not match tls.crt'
  } catch {
    return 'tls.key contains no private key in PEM format'
  }
}

function certificatesIn(text: string): readonly string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text) !== undefined
  } catch {
    return false
  }
}
