import { type LookupAddress, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Cidr } from '../../cel/values/cidr.ts'
import { ipFromSocket, parseIp } from '../../cel/values/ip.ts'

/** Addresses that no issuer can have: cloud metadata, this network, multicast, broadcast. */
const NEVER = ranges(
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/3',
  '::/128',
  'fe80::/10',
  'fd00:ec2::/32',
  'ff00::/8',
)

/** Addresses that an issuer in the same organization may have. */
const PRIVATE = ranges(
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '::1/128',
  'fc00::/7',
  // Embedded in IPv6: translated and tunneled IPv4.
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
)

/** Names that cannot be registered publicly, so the operator controls what they resolve to. */
const INTERNAL_NAME = /^[^.]+$|\.(?:svc|local|localhost|internal|intranet|lan|home\.arpa)$/

/**
 * Whether a key set of this host may come from a private address, as IP literals and internal names
 * intend.
 */
export function isInternalHost(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/^\[|\]$/g, '')
  return isIP(name) !== 0 || INTERNAL_NAME.test(name.replace(/\.$/, ''))
}

export function isForbiddenAddress(address: string, mayBePrivate: boolean): boolean {
  const ip = ipFromSocket(address)
  if (ip === undefined || NEVER.some((range) => range.containsIp(ip))) return true
  return !mayBePrivate && PRIVATE.some((range) => range.containsIp(ip))
}

export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void

export const FORBIDDEN = 'ERR_FORBIDDEN_ADDRESS'

/**
 * The DNS lookup of a connection, so that the checked address is the one that is used: a name that
 * is resolved once for the check and again for the connection can yield two different addresses.
 */
export function guardedLookup(mayBePrivate: boolean, resolve: Resolve = systemLookup) {
  const guarded: LookupFunction = (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      const fault = error ?? judge(hostname, addresses, mayBePrivate)
      if (fault !== null) done(fault, '', 4)
      else if (options.all === true) done(null, [...addresses])
      else done(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 4)
    })
  }
  return guarded
}

function judge(
  hostname: string,
  addresses: readonly LookupAddress[],
  mayBePrivate: boolean,
): Error | null {
  const bad = addresses.find(({ address }) => isForbiddenAddress(address, mayBePrivate))
  if (bad === undefined && addresses.length > 0) return null
  const message = `${hostname} resolves to ${bad?.address ?? 'no address'}; fetching keys from there is not allowed`
  return Object.assign(new Error(message), { code: FORBIDDEN })
}

function systemLookup(hostname: string, done: Parameters<Resolve>[1]): void {
  lookup(hostname, { all: true }, (error, addresses) => done(error, addresses ?? []))
}

function ranges(...texts: readonly string[]): readonly Cidr[] {
  return texts.map((text) => {
    const [address = '', length] = text.split('/')
    const ip = parseIp(address)
    if (ip === undefined) throw new Error(`invalid CIDR range ${text}`)
    return new Cidr(ip, Number(length))
  })
}
