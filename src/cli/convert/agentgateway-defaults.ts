import { isMap, isScalar, type Pair } from 'yaml'

/* The implicit defaults of agentgateway files. */

/** Keys that distinguish authentication policies from credentials of the same name. */
const AUTHENTICATIONS: Readonly<Record<string, readonly string[]>> = {
  jwtAuth: ['issuer', 'providers', 'jwks'],
  jwtAuthentication: ['issuer', 'providers', 'jwks'],
  apiKey: ['keys'],
  basicAuth: ['htpasswd'],
}

/** Whether an authentication has no `mode`: the default is Optional there, and Strict here. */
export function lacksMode({ key, value }: Pair): boolean {
  if (!isScalar(key) || !isMap(value) || value.has('mode')) return false
  return AUTHENTICATIONS[String(key.value)]?.some((own) => value.has(own)) === true
}

/** Whether the value is `name:port` without a scheme; an IP address has no name to send. */
export function isNamedHost(value: unknown): boolean {
  return typeof value === 'string' && /^[a-z0-9.-]*[a-z][a-z0-9.-]*:\d+$/i.test(value)
}
