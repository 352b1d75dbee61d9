import { withoutImpliedPort } from '../exchange/same-host.ts'
import { scalar } from './scalars.ts'

/** `*` is any origin if allowed, or any name or port within an origin. */
export const origin = () =>
  scalar<string>({
    what: 'an origin',
    hint: 'use *, https://app.example.com or https://*.example.com, without a path',
    pattern:
      /^(\*|null|[a-z][a-z0-9+.-]*:\/\/(\*|(\*\.)?[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(:([0-9]{1,5}|\*))?)$/,
    parse: (text) => text.toLowerCase(),
  })

/** Specific sites, never all of them: `*` and `null` are not valid. */
export const trustedOrigin = () =>
  scalar<string>({
    what: 'a site origin',
    hint: 'use https://app.example.com or https://*.example.com, without a path',
    pattern:
      /^[a-z][a-z0-9+.-]*:\/\/((\*\.)?[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(:([0-9]{1,5}|\*))?$/,
    parse: (text) => text.toLowerCase(),
  })

/**
 * `*` is any origin, `https://*.example.com` any subdomain at any depth, `:*` any port. An origin
 * has its scheme and host in lower case and never a port that the scheme implies.
 */
export function compileOrigins(origins: readonly string[]): (origin: string) => boolean {
  if (origins.includes('*')) return () => true
  const exact = new Set(origins.filter((origin) => !origin.includes('*')).map(withoutImpliedPort))
  const patterns = origins.filter((origin) => origin.includes('*')).map(toPattern)
  return (origin) => {
    if (exact.has(origin)) return true
    return patterns.length > 0 && patterns.some((pattern) => pattern.test(origin))
  }
}

const HOST = '(?:[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*|\\[[0-9a-f:.]+\\])'
const LABELS = '(?:[a-z0-9_-]+\\.)+'

function toPattern(origin: string): RegExp {
  const [, scheme = '', host = '', port = ''] =
    /^([^:]+):\/\/(\[[^\]]*\]|[^:]+)(:.*)?$/.exec(withoutImpliedPort(origin)) ?? []
  const hosts =
    host === '*' ? HOST : host.startsWith('*.') ? LABELS + escaped(host.slice(2)) : escaped(host)
  const ports = port === ':*' ? '(?::[0-9]+)?' : escaped(port)
  return new RegExp(`^${escaped(scheme)}://${hosts}${ports}$`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}
