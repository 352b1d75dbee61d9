import { type DocumentObject, isDocumentObject as isObject } from './schema.ts'

/*
 * Parameters of an API that identify the caller. A model must not choose them: policies of the
 * target set them, or nothing does.
 */

/** `X-Api-Key`, `Access-Token`, `X-Amz-Security-Token`, `Ocp-Apim-Subscription-Key`. */
const CREDENTIAL =
  /(?:^|[-_])(?:(?:api|app|auth|access|session|security|private|subscription|functions|vault|bearer|jwt)[-_]?(?:key|token|assertion)|password|secret|credentials?)$/

/** Headers in which proxies send the address of a client, or a user that they authenticated. */
const OF_PROXIES: ReadonlySet<string> = new Set([
  ...['forwarded', 'via', 'remote-user', 'true-client-ip'],
  ...['x-real-ip', 'x-client-ip', 'x-cluster-client-ip', 'x-username', 'x-user', 'x-user-id'],
  ...['x-user-name', 'x-user-email', 'x-user-role', 'x-user-roles', 'x-user-groups'],
])

const PREFIXES_OF_PROXIES: readonly string[] = [
  ...['x-forwarded', 'x-original-', 'x-envoy-', 'x-rewrite-', 'x-auth-request-', 'x-remote-'],
  ...['x-webauth-', 'x-authenticated-', 'x-consumer-', 'x-credential-', 'x-amzn-oidc-'],
  ...['x-amzn-mtls-', 'x-goog-authenticated-user-', 'x-goog-iap-', 'x-ms-client-principal'],
  ...['x-ms-token-', 'cf-access-', 'cf-connecting-', 'cloudfront-viewer-', 'fastly-client-'],
]

/** True for a parameter that identifies the caller; `schemes` from `schemeParameters`. */
export function isOfCaller(place: string, name: string, schemes: ReadonlySet<string>): boolean {
  if (schemes.has(schemeKey(place, name))) return true
  if (place !== 'header') return false
  const header = name.toLowerCase()
  const isOfProxy =
    OF_PROXIES.has(header) || PREFIXES_OF_PROXIES.some((prefix) => header.startsWith(prefix))
  return isOfProxy || CREDENTIAL.test(header)
}

/** Returns the parameters that the document declares as API keys. */
export function schemeParameters(document: DocumentObject): ReadonlySet<string> {
  const { components } = document
  const schemes = isObject(components) ? components['securitySchemes'] : undefined
  const found = new Set<string>()
  for (const scheme of isObject(schemes) ? Object.values(schemes) : []) {
    if (!isObject(scheme)) continue
    const { type, in: place, name } = scheme
    if (type === 'apiKey' && typeof place === 'string' && typeof name === 'string') {
      found.add(schemeKey(place, name))
    }
  }
  return found
}

function schemeKey(place: string, name: string): string {
  return `${place} ${place === 'header' ? name.toLowerCase() : name}`
}
