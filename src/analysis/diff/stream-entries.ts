import { BOOL } from '../../cel/check/types.ts'
import { compile, STAGES } from '../../cel/index.ts'
import { coverage, rankOf } from '../../model/hostnames.ts'
import { nameOf } from '../../reach/attachment.ts'
import type { Reach } from '../../reach/reach.ts'
import { leadsToBackend } from '../../reach/streams.ts'
import type { StreamPlace } from '../../reach/where.ts'
import type { Point } from '../points.ts'
import type { Condition } from '../symbolic/space.ts'

/** The only way through a TCP or TLS listener; none if a missing route closes all connections. */
export function streamEntries(reach: Reach, point: Point, door: string) {
  const own = nameOf(point.where.listener)
  const names = serverNames([...reach.streamsOn(point.where)], own)
  if (names.every((name) => name.startsWith(CLOSED))) return []
  // Only these protocols have server names.
  const isNamed = point.where.listener.protocol === 'TLS'
  const entry = {
    key: door,
    way: door,
    where: point.where,
    listener: door,
    route: '',
    backend: undefined,
    provider: undefined,
    match: undefined,
    names: names.join(' '),
    ...(isNamed ? { served: servedCondition(names) } : {}),
    isServed: true,
    unlooked: {},
    points: [point],
  }
  return [entry]
}

/** The server names of connections that reach a backend: of several names, the longest decides. */
function servedCondition(names: readonly string[]): Condition | undefined {
  const ranked = names
    .map((text) => ({ name: text.replace(CLOSED, ''), isServed: !text.startsWith(CLOSED) }))
    .sort((a, b) => rankOf(b.name) - rankOf(a.name))
  const text = ranked.reduceRight(
    (others, { name, isServed }) => `(${nameText(name)}) ? ${isServed} : (${others})`,
    'false',
  )
  const term = compile(text, STAGES.connection, { expect: BOOL }).expression?.term
  return term && { text, term }
}

/** Clients that send no name reach only what serves every name. */
function nameText(name: string): string {
  const subject = 'destination.hostname'
  if (name === '*') return 'true'
  const suffix = JSON.stringify(name.slice(1))
  const test = name.startsWith('*.')
    ? `${subject}.endsWith(${suffix}) && ${subject} != ${suffix}`
    : `${subject} == ${JSON.stringify(name)}`
  return `has(${subject}) && ${test}`
}

/** Precedes names whose connections are closed because their route leads nowhere. */
export const CLOSED = '!'

/**
 * The names that routes accept, each with the result of the first route that accepts it. A route
 * without names accepts any name of the listener.
 */
function serverNames(
  streams: readonly StreamPlace[],
  listener: string | undefined,
): readonly string[] {
  const leads = new Map<string, boolean>()
  for (const { stream, hostnames } of streams) {
    for (const written of hostnames.length === 0 ? ['*'] : hostnames) {
      const isWider = written === '*' || (listener !== undefined && coverage(written)(listener))
      const name = isWider ? (listener ?? '*') : written
      if (!leads.has(name)) leads.set(name, leadsToBackend(stream))
    }
  }
  return [...leads].map(([name, isServed]) => (isServed ? name : `${CLOSED}${name}`)).sort()
}
