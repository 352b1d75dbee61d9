import type { Exchange } from '../exchange/exchange.ts'
import { hash32, maglevTable } from './maglev.ts'

/** One of several members that can serve a request. */
export interface Balanced {
  readonly name: string
  /** A positive integer: the member's share relative to the others. */
  readonly weight: number
  /** Requests in progress. */
  active: number
  /** Whether health checks and outlier detection consider the member healthy. */
  readonly isUsable: boolean
}

export type Algorithm = 'LeastRequest' | 'RoundRobin' | 'Random' | 'ConsistentHash'

export interface BalanceOptions {
  /** The key for ConsistentHash; requests for which it is undefined go to any member. */
  readonly hashKey?: ((exchange: Exchange) => string | undefined) | undefined
  /**
   * The share of usable members below which health is ignored: if most members seem unhealthy,
   * either the check is broken, or the load of all would overload the rest. 0: never.
   */
  readonly panicBelow?: number
  readonly random?: () => number
}

export interface Balancer<M extends Balanced> {
  /** Undefined if no member is usable. Members in `tried` are chosen only if there is no other. */
  pick(exchange: Exchange | undefined, tried: readonly string[]): M | undefined
  /** Called when a member becomes usable or unusable. */
  update(): void
}

type Pick<M> = (exchange: Exchange | undefined, tried: readonly string[]) => M | undefined

export function balancer<M extends Balanced>(
  algorithm: Algorithm,
  members: readonly M[],
  options: BalanceOptions = {},
): Balancer<M> {
  const { panicBelow = 0.5 } = options
  const make = ALGORITHMS[algorithm]
  let pick: Pick<M> = () => undefined
  const update = () => {
    const usable = members.filter(({ isUsable }) => isUsable)
    const isPanic = usable.length < members.length * panicBelow
    pick = make(isPanic ? members : usable, members, options)
  }
  update()
  return { pick: (exchange, tried) => pick(exchange, tried), update }
}

/** Creates a new picker when health changes, so that picking never checks health. */
type Make = <M extends Balanced>(
  candidates: readonly M[],
  members: readonly M[],
  options: BalanceOptions,
) => Pick<M>

const roundRobin: Make = (candidates, _, { random = Math.random }) => {
  const turns = schedule(candidates)
  const { length } = turns
  // Workers that start together must not all begin with the same member.
  let next = Math.floor(random() * length)
  return (_exchange, tried) => {
    if (length === 0) return undefined
    for (let left = tried.length === 0 ? 1 : length; left > 0; left--) {
      const member = turns[next]
      next = next + 1 === length ? 0 : next + 1
      if (member !== undefined && (tried.length === 0 || !tried.includes(member.name))) {
        return member
      }
    }
    return turns[next]
  }
}

const random: Make = (candidates, _, { random = Math.random }) => {
  const turns = schedule(candidates)
  return (_exchange, tried) => {
    const at = Math.floor(random() * turns.length)
    return tried.length === 0 ? turns[at] : untried(turns, at, tried)
  }
}

/**
 * Picks the less busy of two random members: nearly as good as the least busy of all, but without a
 * thundering herd towards that one.
 */
const leastRequest: Make = (candidates, _, { random = Math.random }) => {
  const turns = schedule(candidates)
  const { length } = turns
  if (length === 1) return () => turns[0]
  return (_exchange, tried) => {
    // One random number selects an ordered pair of distinct positions.
    const pair = Math.floor(random() * length * (length - 1))
    const at = pair % length
    let other = at + 1 + Math.floor(pair / length)
    if (other >= length) other -= length
    if (tried.length > 0) return lessBusy(untried(turns, at, tried), untried(turns, other, tried))
    return lessBusy(turns[at], turns[other])
  }
}

function lessBusy<M extends Balanced>(one: M | undefined, other: M | undefined): M | undefined {
  if (one === undefined || other === undefined) return one
  return other.active * one.weight < one.active * other.weight ? other : one
}

/**
 * The table holds all members, usable or not: the keys of an unhealthy member move to the next
 * member in the table, and no other keys move.
 */
const consistentHash: Make = (candidates, members, options) => {
  const { hashKey } = options
  const anywhere = leastRequest(candidates, members, options)
  const table = tables.get(members) ?? maglevTable(members)
  tables.set(members, table)
  const isCandidate = members.map((member) => candidates.includes(member))
  return (exchange, tried) => {
    const key = exchange === undefined ? undefined : hashKey?.(exchange)
    if (key === undefined || candidates.length === 0) return anywhere(exchange, tried)
    let place = hash32(key, 0) % table.length
    for (let left = table.length; left > 0; left--) {
      const at = table[place] as number
      const member = members[at]
      if (isCandidate[at] && member !== undefined && !tried.includes(member.name)) return member
      place = place + 1 === table.length ? 0 : place + 1
    }
    return anywhere(exchange, tried)
  }
}

/** Tables are kept across updates: health changes often, members never change. */
const tables = new WeakMap<readonly Balanced[], Uint16Array>()

const ALGORITHMS: Readonly<Record<Algorithm, Make>> = {
  LeastRequest: leastRequest,
  RoundRobin: roundRobin,
  Random: random,
  ConsistentHash: consistentHash,
}

/** Returns the first untried member from `at` onwards, or else the one at `at`. */
function untried<M extends Balanced>(
  turns: readonly M[],
  at: number,
  tried: readonly string[],
): M | undefined {
  for (let step = 0; step < turns.length; step++) {
    const member = turns[(at + step) % turns.length]
    if (member !== undefined && !tried.includes(member.name)) return member
  }
  return turns[at]
}

const MAX_SCHEDULE = 4_096

/**
 * Repeats each member according to its weight, evenly spread (smooth weighted round robin): in
 * every turn each member gains its weight as credit, and the member with the most credit is chosen
 * and pays the total. Members with equal weights are returned as they are.
 */
export function schedule<M extends Balanced>(members: readonly M[]): readonly M[] {
  const total = members.reduce((sum, { weight }) => sum + weight, 0)
  const divisor = members.reduce((common, { weight }) => gcd(common, weight), 0)
  const length = Math.min(MAX_SCHEDULE, total / Math.max(1, divisor))
  if (length <= members.length) return members
  const credits = members.map(() => 0)
  return Array.from({ length }, () => {
    let richest = 0
    for (const [at, { weight }] of members.entries()) {
      credits[at] = (credits[at] as number) + weight
      if ((credits[at] as number) > (credits[richest] as number)) richest = at
    }
    credits[richest] = (credits[richest] as number) - total
    return members[richest] as M
  })
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}
