import { isTree, type Json, type Tree } from './document.ts'

const GUARDS: ReadonlySet<string> = new Set([
  'authorization',
  'networkAuthorization',
  'jwtAuthentication',
  'apiKey',
  'basicAuth',
  'authentication',
  'oidc',
  'extAuthz',
  // Client certificates are credentials, too.
  'root',
  'clientCertificates',
])

/** The same routes without rules and authentication, so that no request is denied. */
export function withoutPolicies(tree: Tree): Tree {
  const { policies: _, ...rest } = tree
  return stripped(rest) as Tree
}

function stripped(value: Json): Json {
  if (Array.isArray(value)) return value.map(stripped)
  if (!isTree(value)) return value
  const kept = Object.entries(value).filter(([key]) => !GUARDS.has(key))
  return Object.fromEntries(
    kept
      .map(([key, own]) => [key, stripped(own)] as const)
      .filter(([key, own]) => !/olicies$/.test(key) || !isTree(own) || Object.keys(own).length > 0),
  )
}
