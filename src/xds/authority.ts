import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type KeyedCertificate, makeAuthority, makeServingCertificate } from './certificate.ts'

/** The entries of the Secret that the replicas of a controller share, as strings. */
export type AuthoritySecret = Readonly<Record<string, string>>

/** What a controller presents to proxies, and what proxies trust. */
export interface Authority {
  /** Certificates that proxies trust, as PEM. */
  readonly trust: string
  readonly serving: KeyedCertificate
  /** What to write to the Secret; undefined: no change is needed. */
  readonly write: AuthoritySecret | undefined
  /** When to call `authorityFrom` again, in milliseconds since 1970. */
  readonly renewAt: number
}

/** The Secret cannot be used as it is; the message says why. */
export class AuthorityError extends Error {}

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const AUTHORITY_LIFE = 10 * 365 * DAY
/** A new authority is created this long before the old one expires, */
const ROTATION = 365 * DAY
/** and signs once proxies have had time to learn about it. */
const ANNOUNCEMENT = DAY
const SERVING_LIFE = DAY
/** Clocks differ. */
const SKEW = HOUR

const COMMON_NAME = 'portcullis xDS'

/**
 * Returns the certificates for delivery. A Secret with `tls.crt` and `tls.key` of a server is used
 * as it is, with the authority in `ca.crt`. A Secret with an authority, in `ca.crt` and `ca.key`
 * or, as cert-manager creates it, in `tls.crt` and `tls.key`, signs certificates that are valid for
 * a day. Without a Secret, an authority is created. It is rotated in two steps, so that each proxy
 * trusts the presented certificate at any time: the next authority is trusted first, and signs a
 * day later.
 */
export function authorityFrom(
  secret: AuthoritySecret | undefined,
  hosts: readonly string[],
  now: number,
): Authority {
  const supplied = pairIn(secret, 'tls.crt', 'tls.key')
  if (supplied !== undefined && !isAuthority(supplied.cert)) {
    const trust = secret?.['ca.crt']
    if (trust === undefined) throw new AuthorityError('`tls.crt` requires `ca.crt`')
    const renewAt = Math.min(now + HOUR, endOf(supplied.cert))
    return { trust, serving: supplied, write: undefined, renewAt }
  }
  const current = supplied ?? pairIn(secret, 'ca.crt', 'ca.key')
  // The owner of a supplied authority also replaces it.
  if (supplied !== undefined || (current !== undefined && secret?.[MADE] === undefined)) {
    return signedBy(current as KeyedCertificate, [], hosts, now, undefined)
  }
  if (current === undefined) {
    if (secret !== undefined && Object.keys(secret).length > 0) {
      throw new AuthorityError('it has neither `ca.crt` and `ca.key` nor `tls.crt` and `tls.key`')
    }
    const made = newAuthority(now)
    const write = { 'ca.crt': made.cert, 'ca.key': made.key, [MADE]: 'true' }
    return signedBy(made, [], hosts, now, write)
  }
  return rotated(secret as AuthoritySecret, current, hosts, now)
}

/** Marks an authority that the controller created and may replace. */
const MADE = 'made-by-portcullis'

function rotated(
  secret: AuthoritySecret,
  current: KeyedCertificate,
  hosts: readonly string[],
  now: number,
): Authority {
  const next = pairIn(secret, 'next.crt', 'next.key')
  const previous = secret['previous.crt']
  const others = [next?.cert, previous].filter(
    (cert): cert is string => cert !== undefined && endOf(cert) > now,
  )
  if (next === undefined) {
    if (endOf(current.cert) - now > ROTATION) {
      return signedBy(current, others, hosts, now, undefined)
    }
    const made = newAuthority(now)
    const write = { ...secret, 'next.crt': made.cert, 'next.key': made.key }
    return signedBy(current, [...others, made.cert], hosts, now, write)
  }
  const isAnnounced = now >= beginOf(next.cert) + SKEW + ANNOUNCEMENT
  if (!isAnnounced && endOf(current.cert) > now + SERVING_LIFE) {
    return signedBy(current, others, hosts, now, undefined)
  }
  const write = {
    'ca.crt': next.cert,
    'ca.key': next.key,
    'previous.crt': current.cert,
    [MADE]: 'true',
  }
  const trusted = endOf(current.cert) > now ? [current.cert] : []
  return signedBy(next, trusted, hosts, now, write)
}

function signedBy(
  authority: KeyedCertificate,
  others: readonly string[],
  hosts: readonly string[],
  now: number,
  write: AuthoritySecret | undefined,
): Authority {
  const to = Math.min(now + SERVING_LIFE, endOf(authority.cert))
  if (to <= now) throw new AuthorityError('the CA certificate has expired')
  const serving = makeServingCertificate(authority, hosts, { from: now - SKEW, to })
  const trust = [...new Set([authority.cert, ...others])].map((cert) => `${cert.trim()}\n`).join('')
  return { trust, serving, write, renewAt: now + (to - now) / 2 }
}

function newAuthority(now: number): KeyedCertificate {
  return makeAuthority(COMMON_NAME, { from: now - SKEW, to: now + AUTHORITY_LIFE })
}

/** The pair, if it belongs together; undefined if there is no key. */
function pairIn(
  secret: AuthoritySecret | undefined,
  certEntry: string,
  keyEntry: string,
): KeyedCertificate | undefined {
  const { [certEntry]: cert, [keyEntry]: key } = secret ?? {}
  if (key === undefined) return undefined
  if (cert === undefined) throw new AuthorityError(`\`${keyEntry}\` requires \`${certEntry}\``)
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key }
  } catch (error) {
    const { message } = error as Error
    throw new AuthorityError(`\`${certEntry}\` and \`${keyEntry}\` are not valid PEM: ${message}`)
  }
  throw new AuthorityError(`\`${keyEntry}\` does not match \`${certEntry}\``)
}

function isAuthority(cert: string): boolean {
  return new X509Certificate(cert).ca
}

function endOf(cert: string): number {
  return Date.parse(new X509Certificate(cert).validTo)
}

function beginOf(cert: string): number {
  return Date.parse(new X509Certificate(cert).validFrom)
}
