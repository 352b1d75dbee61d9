import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Listener } from '../model/gateway.ts'
import type { Material, Secret } from '../model/material.ts'
import type { Model } from '../model/model.ts'
import type { ValidPolicy } from '../model/policy.ts'

/** What no schema can see: keys and certificates that are none, or do not go together. */
export function checkKeys(model: Model): readonly Diagnostic[] {
  const listeners = model.gateways.flatMap(({ listeners }) => listeners)
  return [...listeners.flatMap(checkListener), ...backendPolicies(model).flatMap(checkBackend)]
}

function checkListener(listener: Listener): readonly Diagnostic[] {
  if (listener.protocol !== 'HTTPS' && listener.protocol !== 'TLS') return []
  const { tls, name, origin } = listener
  if (tls.mode !== 'Terminate') return []
  const problems = tls.certificates.map(({ cert, key }) => pairProblem(cert, key))
  return told([...problems, rootProblem(tls.clients?.ca)], `of the listener \`${name}\``, origin)
}

function checkBackend({ value, origin }: ValidPolicy): readonly Diagnostic[] {
  const { root, cert, key } = value as { root?: Material; cert?: Material; key?: Secret }
  const pair = cert === undefined || key === undefined ? undefined : pairProblem(cert, key)
  return told([pair, rootProblem(root)], 'towards the backend', origin)
}

function told(
  problems: readonly (string | undefined)[],
  what: string,
  origin: Diagnostic['origin'],
): readonly Diagnostic[] {
  return problems.flatMap((problem) => {
    if (problem === undefined) return []
    const message = `TLS ${what} cannot be set up: ${problem}`
    const hint = 'check the certificate and the key: are they in PEM form, and of each other?'
    return [{ code: 'PC0402', severity: 'error', message, hint, origin }]
  })
}

function pairProblem({ text }: Material, { secret }: Secret): string | undefined {
  const certificate = attempt(() => new X509Certificate(text))
  if (certificate === undefined) return 'the certificate is none'
  const key = attempt(() => createPrivateKey(secret))
  if (key === undefined) return 'the key is none, or has a password'
  return certificate.checkPrivateKey(key) ? undefined : 'the key is not that of the certificate'
}

function rootProblem(root: Material | undefined): string | undefined {
  if (root === undefined || attempt(() => new X509Certificate(root.text)) !== undefined) return
  return 'there is no certificate of an authority in `root`'
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

/** Wherever they are attached; the same one is told of once. */
function backendPolicies(model: Model): readonly ValidPolicy[] {
  const found = new Map<string, ValidPolicy>()
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const policy = value as ValidPolicy
    if (policy.kind === 'backendTLS' && policy.state === 'valid')
      found.set(JSON.stringify(policy.origin), policy)
    else for (const member of Object.values(value)) walk(member)
  }
  walk([model.gateways, model.routes, model.tcpRoutes, model.backends])
  return [...found.values()]
}
