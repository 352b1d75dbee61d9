// HOT PATH: the rest of a rule after a lookup, in one small object instead of a function with its
// context: with 100,000 rules, the cost of a hit is memory that is not in the cache. Guarded by
// bench/cel.ts; equals the linear scan (rule-set.test.ts).

import type { Evaluate, Variables } from '../emit/functions.ts'
import type { Cidr } from '../values/cidr.ts'
import { Ip } from '../values/ip.ts'
import type { Value } from '../values/value.ts'
import type { Atom } from './atoms.ts'
import { type Bucket, enter, type Matcher } from './lookups.ts'

/** Atoms with one key can be tested by value. */
export function isTested({ kind, keys }: Atom): boolean {
  return kind !== 'element' && keys.length === 1
}

export function testAtom(kind: Atom['kind'], read: Evaluate, key: Value, then: Bucket): Matcher {
  if (kind === 'prefix') return new PrefixTest(read, key as string, then)
  if (kind === 'cidr') return new CidrTest(read, key as Cidr, then)
  return new EqualTest(read, key, then)
}

class EqualTest implements Matcher {
  readonly #read: Evaluate
  readonly #key: Value
  readonly #then: Bucket

  constructor(read: Evaluate, key: Value, then: Bucket) {
    this.#read = read
    this.#key = key
    this.#then = then
  }

  match(variables: Variables): number {
    return this.#read(variables) === this.#key ? enter(this.#then, variables, undefined) : -1
  }
}

class PrefixTest implements Matcher {
  readonly #read: Evaluate
  readonly #prefix: string
  readonly #then: Bucket

  constructor(read: Evaluate, prefix: string, then: Bucket) {
    this.#read = read
    this.#prefix = prefix
    this.#then = then
  }

  match(variables: Variables): number {
    const text = this.#read(variables)
    if (typeof text !== 'string' || !text.startsWith(this.#prefix)) return -1
    return enter(this.#then, variables, undefined)
  }
}

class CidrTest implements Matcher {
  readonly #read: Evaluate
  readonly #network: Cidr
  readonly #then: Bucket

  constructor(read: Evaluate, network: Cidr, then: Bucket) {
    this.#read = read
    this.#network = network
    this.#then = then
  }

  match(variables: Variables): number {
    const ip = this.#read(variables)
    return ip instanceof Ip && this.#network.containsIp(ip)
      ? enter(this.#then, variables, undefined)
      : -1
  }
}
