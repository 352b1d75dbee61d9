import type { ProxyProtocol } from '../../policies/proxy-protocol/schema.ts'
import { isText } from '../mcp-facts.ts'
import type { Verdict } from './difference.ts'
import type { Entry } from './entries.ts'
import type { ExampleRequest } from './example.ts'

/**
 * How a connection begins: with a PROXY header of a version, without one, or without one but with a
 * request whose method is PROXY, which a reader of version 1 headers mistakes for one.
 */
export type Opening = 'None' | 'Method' | 'V1' | 'V2'

const ANY: readonly Opening[] = ['None', 'V1', 'V2']
const WITHOUT: readonly Opening[] = ['None', 'Method']
const WITH: Readonly<Record<ProxyProtocol['version'], readonly Opening[]>> = {
  V1: ['V1'],
  V2: ['V2'],
  All: ['V2', 'V1'],
}

/**
 * The openings that the listener accepts. The opening determines who the client is, in the same way
 * for all listeners that accept it.
 */
function openingsOf({ where, points }: Entry): readonly Opening[] {
  const own = points[0]?.effective.get('proxyProtocol')?.[0].value as ProxyProtocol | undefined
  // What is not read is data, which a TLS handshake does not begin with.
  const isData = where.listener.protocol === 'TCP'
  if (own === undefined) return isData ? ANY : canMistake(where) ? WITHOUT : ['None']
  const { mode, version } = own
  const headers = WITH[version]
  if (mode === 'Strict') return headers
  if (isData) return ANY
  return version === 'V2' && canMistake(where) ? [...WITHOUT, ...headers] : ['None', ...headers]
}

/** With TLS, the first bytes do not contain a method. */
function canMistake({ listener }: Entry['where']): boolean {
  return listener.protocol === 'HTTP'
}

export function isOpenedAlike(one: Entry, other: Entry): boolean {
  if (one.match === undefined) {
    const settings = ({ points }: Entry) => points[0]?.believes['proxyProtocol']
    return settings(one) === settings(other)
  }
  return openingsOf(one).join() === openingsOf(other).join()
}

/** The openings that only `one` accepts. */
export function openingsBeyond(one: Entry, other: Entry): readonly Opening[] {
  const others = openingsOf(other)
  const beyond = openingsOf(one).filter((opening) => !others.includes(opening))
  return beyond.includes('None') ? beyond.filter((opening) => opening !== 'Method') : beyond
}

/** Whether it is known how connections begin that are no requests: those of TLS have no data yet. */
export function hasPlainOpenings(...entries: readonly Entry[]): boolean {
  return entries.every(({ where }) => ['TCP', 'TLS'].includes(where.listener.protocol))
}

function sharedOpenings(one: Entry, other: Entry): readonly Opening[] {
  const others = openingsOf(other)
  return openingsOf(one).filter((opening) => others.includes(opening))
}

export function shareOpening(one: Entry, other: Entry): boolean {
  return sharedOpenings(one, other).length > 0
}

/** The shared openings from which both sides take the same source, and the others. */
export function openingsBySource(one: Entry, other: Entry) {
  const [own, others] = [headersOf(one), headersOf(other)]
  const isAlike = (opening: Opening) => own.includes(opening) === others.includes(opening)
  const shared = sharedOpenings(one, other)
  return { alike: shared.filter(isAlike), apart: shared.filter((opening) => !isAlike(opening)) }
}

/** Only protocols without TLS and HTTP treat what is not read as a header as data. */
export const OTHER_STREAM_OPENINGS =
  '`proxyProtocol` differs, so that rules read another source from the same PROXY header'
export const UNREAD_OPENINGS = '`proxyProtocol` differs, which is not analyzed for this protocol'

export const UNSHOWN_OPENING =
  '`proxyProtocol` differs, and no example was found that only one configuration admits'

const REASONS: Readonly<Record<Opening, string>> = {
  None: 'the connection is closed because it has no PROXY header',
  Method:
    'the connection is closed because the method is parsed as the beginning of a PROXY header',
  V1: 'the connection begins with a version 1 PROXY header, which is not accepted here',
  V2: 'the connection begins with a version 2 PROXY header, which is not accepted here',
}

export function deniedOpening(opening: Opening): Verdict {
  return { isAdmitted: false, route: '', reason: REASONS[opening] }
}

/** The request on a connection with this opening. */
export function withOpening(request: ExampleRequest, opening: Opening): ExampleRequest {
  if (opening === 'Method') return { ...request, method: 'PROXY', proxyHeader: 'None' }
  return { ...request, proxyHeader: opening }
}

/** The way for connections with this opening: for their first request, whose method is known. */
export function openedBy(entry: Entry, opening: Opening): Entry {
  if (opening !== 'Method') return entry
  const points = entry.points.map((point) => ({
    ...point,
    facts: new Map([...point.facts, ['request.method', isText('PROXY')] as const]),
  }))
  return { ...entry, points }
}

/** Headers that determine the source: what is not read as one is data. */
function headersOf({ points }: Entry): readonly Opening[] {
  const policy = points[0]?.effective.get('proxyProtocol')?.[0].value as ProxyProtocol | undefined
  return policy === undefined ? [] : WITH[policy.version]
}

/** Sets how the connection of an example begins, if that is not up to the client. */
export function onSharedOpening(
  request: ExampleRequest,
  entry: Entry,
  other: Entry | 'none',
): ExampleRequest {
  const sides = other === 'none' ? [entry] : [entry, other]
  if (sides.every((side) => headersOf(side).length === 0)) return request
  // With a header, the client can have any address.
  const header = HEADERS.find((one) => sides.every((side) => headersOf(side).includes(one)))
  const isPlain = sides.every((side) => openingsOf(side).includes('None'))
  const opening = header ?? (isPlain ? 'None' : undefined)
  return opening === undefined ? request : withOpening(request, opening)
}

const HEADERS: readonly Opening[] = ['V2', 'V1']
