import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Material } from '../model/material.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { type SecretRef, secretText } from '../model/secret.ts'

/** What is wrong with a certificate and its key, if anything. */
export function pairProblem({ text }: Material, ref: SecretRef): string | undefined {
  const certificate = attempt(() => new X509Certificate(text))
  if (certificate === undefined) return 'the certificate is not valid PEM'
  const secret = secretText(ref)
  if (secret === undefined) return `the key \`${ref.secretRef}\` is missing`
  const key = attempt(() => createPrivateKey(secret))
  if (key === undefined) return 'the key is not a PEM private key, or is encrypted'
  return certificate.checkPrivateKey(key) ? undefined : 'the key does not match the certificate'
}

export function rootProblem(root: Material | undefined): string | undefined {
  if (root === undefined || attempt(() => new X509Certificate(root.text)) !== undefined) return
  return '`root` does not contain a CA certificate'
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

/** Checks the materials of `backendTLS`. */
export function backendMaterialFaults({ value, origin }: ValidPolicy): readonly Diagnostic[] {
  const { root, cert, key } = value as { root?: Material; cert?: Material; key?: SecretRef }
  const pair = cert === undefined || key === undefined ? undefined : pairProblem(cert, key)
  return materialFaults([pair, rootProblem(root)], 'to the backend', origin)
}

export function materialFaults(
  problems: readonly (string | undefined)[],
  what: string,
  origin: Diagnostic['origin'],
): readonly Diagnostic[] {
  return problems.flatMap((problem) => {
    if (problem === undefined) return []
    const message = `TLS ${what} cannot be set up: ${problem}`
    const hint = 'make sure both are PEM files and belong together'
    return [{ code: 'PC0402', severity: 'error', message, hint, origin }]
  })
}
