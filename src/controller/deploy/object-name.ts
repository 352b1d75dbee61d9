import { createHash } from 'node:crypto'

/** DNS labels, which the names of Services and the values of labels are. */
const MAX_NAME = 63
const HASH = 12

/**
 * What the objects of a Gateway are called: as the Gateway, if that is a name for a Service. Names
 * that are longer, or have dots, or begin with a digit, are changed and get a hash, so that two
 * Gateways never share an object.
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
