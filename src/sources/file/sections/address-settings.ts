import type { Address } from '../../../model/settings.ts'
import { parseHost, scalar } from '../../../policies/schema.ts'

/** The address of a listener for operators. */
export const address = () =>
  scalar<Address>({
    what: 'a listen address',
    hint: 'use ip:port, localhost:port, unix:/path or off',
    parse: (text) => {
      if (text === 'off') return { kind: 'off' }
      const found = parseHost(text)
      if (found === undefined || found.kind === 'unix') return found
      const { kind: _, scheme, ...rest } = found
      // Any other name would have to be resolved, and startup would depend on DNS.
      const isHere = rest.host === 'localhost' || isAddress(rest.host)
      return scheme === undefined && isHere ? { kind: 'tcp', ...rest } : undefined
    },
  })

function isAddress(host: string): boolean {
  return host.includes(':') || IPV4.test(host)
}

const IPV4 = /^([0-9]{1,3}\.){3}[0-9]{1,3}$/

/** An IP address, since a name could not be resolved. */
export const nameServer = () =>
  scalar<string>({
    what: 'a DNS server address',
    hint: 'use ip or ip:port, with IPv6 addresses in brackets',
    parse: (text) => {
      const found = parseHost(/[0-9]:[0-9]+$|\]:[0-9]+$/.test(text) ? text : `${text}:53`)
      if (found?.kind !== 'host' || found.scheme !== undefined) return undefined
      const { host, port } = found
      if (host.includes(':')) return `[${host}]:${port}`
      return IPV4.test(host) ? `${host}:${port}` : undefined
    },
  })
