import { servesRequests, terminatedTls } from '../model/gateway.ts'
import { rankFor } from '../model/hostnames.ts'
import type { HypotheticalRequest } from '../program/explain.ts'
import { listenersCalled } from '../program/explain-listener.ts'
import type { ListenerProgram, Program } from '../program/program.ts'
import { UsageError } from './define.ts'
import { writtenBy } from './hypothetical-request.ts'
import type { RequestReader } from './wire-request.ts'

/**
 * The listener that gets the request, if it is known: a client chooses the port, so if several
 * serve its host, the scheme or the port of a URL decides, or the name that the user gives.
 */
export function chooseListener(
  { listeners }: Program,
  reader: RequestReader,
  hypothetical: HypotheticalRequest,
  url: string | undefined,
): string | undefined {
  const { listener: wanted } = hypothetical
  const called = listenersCalled(listeners, wanted)
  if (wanted !== undefined && new Set(called.map(({ gateway }) => gateway)).size > 1) {
    throw new UsageError(`listener name ${wanted} is ambiguous; use one of: ${namesOf(called)}`)
  }
  const serving = aimedAt(servingEach(called, reader, hypothetical), url)
  if (new Set(serving.map(portOf)).size > 1) {
    const at = serving.map((one) => `${namesOf([one])} (port ${portOf(one)})`)
    const what = wanted === undefined ? 'this host' : `this host at ${wanted}`
    throw new UsageError(
      `several ports serve ${what}; specify one with --listener: ${at.join(', ')}`,
    )
  }
  const [only] = serving
  return only === undefined ? wanted : namesOf([only])
}

/** The listener of each port that serves the request. */
function servingEach(
  called: readonly ListenerProgram[],
  reader: RequestReader,
  hypothetical: HypotheticalRequest,
): readonly ListenerProgram[] {
  const { sni, listener: wanted } = hypothetical
  if (called.some(({ listener }) => servesRequests(listener))) {
    const placed = reader.placesOf(writtenBy(hypothetical), (one) => called.includes(one), sni)
    return placed.map(({ listener }) => listener)
  }
  if (wanted === undefined) return []
  const rank = ({ listener }: ListenerProgram) => rankFor(listener.hostname, sni ?? '')
  const able = called.filter((one) => rank(one) >= 0).toSorted((a, b) => rank(b) - rank(a))
  return [...Map.groupBy(able, portOf).values()].flatMap(([best]) => best ?? [])
}

function aimedAt(
  serving: readonly ListenerProgram[],
  url: string | undefined,
): readonly ListenerProgram[] {
  const [, scheme, port] = /(https?):\/\/[^/?\s]*?(?::(\d+))?(?:[/?\s]|$)/i.exec(url ?? '') ?? []
  if (scheme === undefined) return serving
  const isTls = scheme.toLowerCase() === 'https'
  const same = serving.filter(({ listener }) => (terminatedTls(listener) !== undefined) === isTls)
  const exact = same.filter((one) => String(portOf(one)) === port)
  return [exact, same, serving].find((some) => some.length > 0) ?? []
}

function portOf({ listener }: ListenerProgram): number | undefined {
  return listener.port
}

function namesOf(listeners: readonly ListenerProgram[]): string {
  return listeners.map(({ gateway, listener }) => `${gateway}/${listener.name}`).join(', ')
}
