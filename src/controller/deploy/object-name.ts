import { createHash } from 'node:crypto'

/** The limit of DNS labels, which names of Services and label values must be. */
const MAX_NAME = 63
const HASH = 12

/**
 * The name of a Gateway's objects: the Gateway's name, if it is valid for a Service. Names that are
 * too long, contain dots, or begin with a digit are changed and get a hash, so that two Gateways
 * never share an object.
 */
export function objectName(gateway: string, suffix = ''): string {
  const own = /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(gateway) ? `${gateway}${suffix}` : undefined
  if (own !== undefined && own.length <= MAX_NAME) return own
  const hash = createHash('sha256').update(gateway).digest('hex').slice(0, HASH)
  const readable = gateway.toLowerCase().replaceAll(/[^-a-z0-9]/g, '-')
  const started = /^[a-z]/.test(readable) ? readable : `gw-${readable}`
  const room = MAX_NAME - HASH - 1 - suffix.length
  return `${started.slice(0, room).replace(/-+$/, '')}-${hash}${suffix}`
}
