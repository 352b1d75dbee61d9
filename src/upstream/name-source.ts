import { promises as dns } from 'node:dns'
import { networkInterfaces } from 'node:os'
import type { Address } from './addresses.ts'
import { type NameFiles, nameFiles } from './name-files.ts'

export interface Families {
  readonly wanted: readonly (4 | 6)[]
  /** IPv6 is queried only if this machine has an IPv6 address. */
  readonly onlyReachable: boolean
}

export interface Answer {
  /** Empty: the name does not exist, or it has no address of these families. */
  readonly addresses: readonly Address[]
  /** Milliseconds. */
  readonly ttl: number
}

/** Finds the addresses of names. Rejects if no answer is received. */
export interface NameSource {
  find(name: string, families: Families): Promise<Answer>
  close(): void
}

export interface SystemNamesOptions {
  readonly hosts?: string
  readonly resolvConf?: string
  /** Replaces the name servers of the machine; `address` or `address:port`. */
  readonly servers?: readonly string[]
  /** Milliseconds per try and server. */
  readonly timeout?: number
  readonly lookup?: (name: string) => Promise<readonly Address[]>
}

const HOSTS_TTL = 5_000
/** getaddrinfo returns no TTL. */
const LOOKUP_TTL = 30_000
/** RFC 8305 §3: how long to wait for the other family. */
const RESOLUTION_DELAY = 50
const LATE_TTL = 5_000

/**
 * Resolves names as this machine does: the hosts file, then name servers along the search list
 * (both with TTLs, which getaddrinfo would hide), then getaddrinfo for anything else.
 */
export function systemNames(options: SystemNamesOptions = {}): NameSource {
  const { servers, timeout = 2_000, lookup = lookUp } = options
  const files = nameFiles(options.hosts ?? '/etc/hosts', options.resolvConf ?? '/etc/resolv.conf')
  let asked = ''
  let resolver: dns.Resolver | undefined

  const resolverFor = ({ resolvConfText }: NameFiles): dns.Resolver => {
    if (resolver !== undefined && asked === resolvConfText) return resolver
    asked = resolvConfText
    resolver = new dns.Resolver({ timeout, tries: 2 })
    if (servers !== undefined) resolver.setServers(servers)
    return resolver
  }

  return {
    find: async (name, families) => {
      const known = await files()
      const local = known.hosts.get(name) ?? loopback(name)
      if (local !== undefined) {
        const wanted = local.filter(({ family }) => families.wanted.includes(family))
        return { addresses: wanted, ttl: HOSTS_TTL }
      }
      const asking = families.wanted.filter((it) => it === 4 || canReach(families))
      for (const candidate of candidates(name, known)) {
        const response = await ask(resolverFor(known), candidate, asking)
        if (response.addresses.length > 0) return response
      }
      const others = (await lookup(name)).filter(({ family }) => asking.includes(family))
      return { addresses: others, ttl: LOOKUP_TTL }
    },
    close: () => resolver?.cancel(),
  }
}

/**
 * The candidates for a name, in the order of resolv.conf. A failed lookup ends the search: trying
 * the next candidate could let a public name replace a cluster-internal one.
 */
function candidates(name: string, { search, ndots }: NameFiles): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const dots = name.split('.').length - 1
  const longer = search.map((domain) => `${name}.${domain}`)
  return dots >= ndots ? [name, ...longer] : [...longer, name]
}

/** RFC 6761 §6.3: these names never leave the machine. */
function loopback(name: string): readonly Address[] | undefined {
  const bare = name.replace(/\.$/, '')
  return bare === 'localhost' || bare.endsWith('.localhost') ? LOOPBACK : undefined
}

const LOOPBACK: readonly Address[] = [
  { address: '::1', family: 6 },
  { address: '127.0.0.1', family: 4 },
]

function canReach({ wanted, onlyReachable }: Families): boolean {
  if (!onlyReachable || !wanted.includes(4)) return true
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family, internal, address }) => {
      return family === 'IPv6' && !internal && !address.startsWith('fe80:')
    }),
  )
}

async function ask(
  resolver: dns.Resolver,
  name: string,
  families: readonly (4 | 6)[],
): Promise<Answer> {
  const responses = families.map((family) => queryFamily(resolver, name, family))
  if (responses.length === 1) return responses[0] as Promise<Answer>
  const settled = Promise.allSettled(responses)
  const [first, isWhole] = await Promise.race([
    settled.then((all) => [join(all), true] as const),
    Promise.any(responses.map(positive)).then(
      (one) => late().then(() => [one, false] as const),
      () => settled.then((all) => [join(all), true] as const),
    ),
  ])
  // The name is looked up again soon, when the late family may have arrived.
  return isWhole ? first : { addresses: first.addresses, ttl: Math.min(first.ttl, LATE_TTL) }
}

async function positive(asked: Promise<Answer>): Promise<Answer> {
  const response = await asked
  if (response.addresses.length === 0) throw new Error('no address')
  return response
}

function late(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, RESOLUTION_DELAY))
}

/** One family with addresses is enough; without any, a failed lookup makes the result a failure. */
function join(settled: readonly PromiseSettledResult<Answer>[]): Answer {
  const responses = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const found = responses.filter(({ addresses }) => addresses.length > 0)
  const failed = settled.find((one) => one.status === 'rejected')
  if (found.length === 0 && failed !== undefined) throw failed.reason
  return {
    addresses: found.flatMap(({ addresses }) => addresses),
    ttl: Math.min(...found.map(({ ttl }) => ttl)),
  }
}

const NO_NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

async function queryFamily(resolver: dns.Resolver, name: string, family: 4 | 6): Promise<Answer> {
  try {
    const records = await (family === 4
      ? resolver.resolve4(name, { ttl: true })
      : resolver.resolve6(name, { ttl: true }))
    return {
      addresses: records.map(({ address }) => ({ address, family })),
      ttl: 1000 * Math.min(...records.map(({ ttl }) => ttl)),
    }
  } catch (error) {
    if (NO_NAME.has((error as NodeJS.ErrnoException).code ?? '')) return { addresses: [], ttl: 0 }
    throw error
  }
}

async function lookUp(name: string): Promise<readonly Address[]> {
  try {
    const found = await dns.lookup(name, { all: true, order: 'verbatim' })
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTFOUND') return []
    throw error
  }
}
