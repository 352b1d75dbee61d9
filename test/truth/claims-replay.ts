import { type Json, type Tree, walk } from './document.ts'
import type { Check, FalseClaim, Pair } from './pair.ts'
import { servesName, takesProxyHeader } from './places.ts'
import { describeProbe, isMistakable, portsOf } from './probes.ts'
import { isAdmitted, type Outcome, type Probe } from './wire.ts'

interface Replay {
  readonly requests: number
  readonly unchanged: number
  readonly changed: readonly { readonly kind: 'admitted' | 'refused'; readonly id: string }[]
  readonly unknown?: readonly { readonly why: string; readonly requests: number }[]
  readonly disagreeing: number
}

/**
 * `portcullis replay`: replays the records of the old file in two groups, requests that the sockets
 * of the new file decide alike and those they decide differently, so that every statement in the
 * output is about one kind only.
 */
export const checkReplay: Check = async (pair) => {
  const { old } = pair
  if (!isSameTransport(pair)) return []
  const alike: number[] = []
  const others: number[] = []
  for (const index of pair.probes.keys()) {
    if ((old.records[index] ?? []).length === 0) continue
    const before = old.outcomes[index] as Outcome
    // Requests that the gateway rejects before parsing, or that match no route, are not recorded.
    if (before.status === 400 || before.status === 404 || before.status === 421) continue
    if (isOfConnection(pair, index) && !isProper(pair, index)) continue
    if (isUnread(pair, index)) continue
    // A record contains only the headers that rules read.
    if (isMistakable(pair.probes[index] as Probe)) continue
    const after = pair.now.outcomes[index] as Outcome
    if (isThrough(pair, before, index) === isThrough(pair, after, index)) alike.push(index)
    else others.push(index)
  }
  return [...(await replayed(pair, alike, 'alike')), ...(await replayed(pair, others, 'otherwise'))]
}

/** The records of the request; if there are none, those of its connection. */
function recordsOf({ old }: Pair, index: number) {
  const all = old.records[index] ?? []
  const own = all.filter(({ stage }) => stage !== 'connection')
  return own.length > 0 ? own : all
}

/** Nothing of a request was recorded: the connection is replayed. */
function isOfConnection({ old }: Pair, index: number): boolean {
  return (old.records[index] ?? []).every(({ stage }) => stage === 'connection')
}

/**
 * The request names no model, and rules about models deny it for that: their records do not contain
 * this.
 */
function isUnread({ probes, old, now }: Pair, index: number): boolean {
  const { request } = probes[index] as Probe
  const readsModel = JSON.stringify([old.tree, now.tree]).includes('llm.requestModel')
  return readsModel && request.target !== '/v1/chat/completions'
}

/**
 * It speaks the protocol of the port: otherwise the connection is closed, whatever the rules say.
 */
function isProper({ probes, old, now }: Pair, index: number): boolean {
  const { transport } = probes[index] as Probe
  const { port, tls } = transport
  if (!takesProxyHeader(now.tree, transport)) return false
  const own = portsOf(now.tree).find((one) => one.port === port)
  if (own === undefined || own.isSecure !== (tls !== undefined)) return false
  // A connection that is denied by its source alone is closed before the server name is read.
  const isNamed = old.records[index]?.some(({ sni }) => sni !== undefined)
  if (tls !== undefined && !isNamed && !servesName(now.tree, port, tls.sni)) return false
  return !own.asksCertificates || (tls?.certificate !== undefined && tls.certificate !== 'stranger')
}

/** Whether the recorded connection or request is admitted. */
function isThrough(pair: Pair, outcome: Outcome, index: number): boolean {
  return isOfConnection(pair, index) ? outcome.status !== 0 : isAdmitted(outcome)
}

/** Records do not contain the transport of connections: if it changes, no statement is made. */
function isSameTransport({ old, now }: Pair): boolean {
  const of = (tree: Tree) => {
    const found: Json[] = []
    for (const [path, value] of walk(tree)) {
      if (path.at(-1) === 'proxyProtocol' || path.at(-1) === 'tls') found.push([path.join(), value])
    }
    return JSON.stringify(found)
  }
  return of(old.tree) === of(now.tree)
}

async function replayed(
  pair: Pair,
  indices: readonly number[],
  how: 'alike' | 'otherwise',
): Promise<readonly FalseClaim[]> {
  if (indices.length === 0) return []
  const { old, now, world } = pair
  const lines = indices.flatMap((index) => recordsOf(pair, index).map((one) => JSON.stringify(one)))
  const decisions = world.writeText('decisions.jsonl', `${lines.join('\n')}\n`)
  const files = ['--old', old.file, '--new', now.file]
  const { out } = await pair.tools(['replay', '--decisions', decisions, ...files, '--json'])
  const found = JSON.parse(out) as Replay
  pair.count('replay')
  for (let i = 0; i < found.requests; i++) pair.count('replay records')
  for (const { requests } of found.unknown ?? []) {
    for (let i = 0; i < requests; i++) pair.count('replay records not known')
  }
  const claims: FalseClaim[] = []
  const add = (kind: string, claim: string, index: number | undefined) => {
    const observed = statusesOf(pair, index)
    const probe = index === undefined ? {} : { probe: describeProbe(pair.probes[index] as Probe) }
    claims.push({ kind, claim, observed, ...probe })
  }
  const indexOf = (id: string) =>
    indices.find((index) => old.records[index]?.some((record) => record.id === id))
  if (found.disagreeing > 0) {
    add(
      'replay disagreeing',
      `replay: ${found.disagreeing} records are not what the old file decides`,
      indices[0],
    )
  }
  for (const { id, kind } of found.changed) {
    const index = indexOf(id)
    const after = index === undefined ? undefined : now.outcomes[index]
    const isSo =
      index !== undefined &&
      after !== undefined &&
      isThrough(pair, after, index) === (kind === 'admitted')
    if (how === 'otherwise' && isSo) continue
    add('replay changed', `replay: newly ${kind}`, index)
  }
  if (how === 'otherwise' && found.unchanged > 0) {
    const changed = new Set(found.changed.map(({ id }) => indexOf(id)))
    add(
      'replay unchanged',
      `replay: ${found.unchanged} unchanged`,
      indices.find((one) => !changed.has(one)),
    )
  }
  return claims
}

function statusesOf({ old, now }: Pair, index: number | undefined): string {
  if (index === undefined) return 'no such request'
  return `${old.outcomes[index]?.status} -> ${now.outcomes[index]?.status}`
}
