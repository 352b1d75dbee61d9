import { isMap, isScalar, type Pair } from 'yaml'

/* What a file for agentgateway means without saying it. */

/** The keys by which authentications are told from credentials of the same name. */
const AUTHENTICATIONS: Readonly<Record<string, readonly string[]>> = {
  jwtAuth: ['issuer', 'providers', 'jwks'],
  jwtAuthentication: ['issuer', 'providers', 'jwks'],
  apiKey: ['keys'],
  basicAuth: ['htpasswd'],
}

/** An authentication without `mode`: its default is Optional there, and Strict here. */
export function lacksMode({ key, value }: Pair): boolean {
  if (!isScalar(key) || !isMap(value) || value.has('mode')) return false
  return AUTHENTICATIONS[String(key.value)]?.some((own) => value.has(own)) === true
}

/** `name:port` without a scheme; an address has no name that could be sent. */
export function isNamedHost(value: unknown): boolean {
  return typeof value === 'string' && /^[a-z0-9.-]*[a-z][a-z0-9.-]*:\d+$/i.test(value)
}
