interface Weighted {
  readonly name: string
  readonly weight: number
}

/** Primes, so that every stride visits every slot. */
const SIZES = [251, 1_021, 4_093, 16_381, 65_521] as const

/**
 * Maps each hash to the index of a member (Maglev, NSDI 2016, §3.4): members take slots in turn,
 * each in an order derived from its name. A lookup finds the member in one step, shares are even to
 * about a percent, and adding or removing a member moves few keys of the others.
 */
export function maglevTable(members: readonly Weighted[]): Uint16Array {
  const heaviest = Math.max(1, ...members.map(({ weight }) => weight))
  const wanted = members.reduce((sum, { weight }) => sum + (100 * weight) / heaviest, 0)
  const size = SIZES.find((prime) => prime >= Math.max(100 * members.length, wanted)) ?? SIZES[4]
  const table = new Uint16Array(size)
  if (members.length < 2) return table
  const taken = new Uint8Array(size)
  const places = members.map(({ name }) => hash32(name, 1) % size)
  const strides = members.map(({ name }) => (hash32(name, 2) % (size - 1)) + 1)
  const credits = members.map(() => 0)
  for (let filled = 0; filled < size; ) {
    for (let at = 0; at < members.length && filled < size; at++) {
      credits[at] = (credits[at] as number) + (members[at] as Weighted).weight / heaviest
      if ((credits[at] as number) < 1) continue
      credits[at] = (credits[at] as number) - 1
      let place = places[at] as number
      while (taken[place] === 1) place = (place + (strides[at] as number)) % size
      taken[place] = 1
      table[place] = at
      places[at] = (place + (strides[at] as number)) % size
      filled++
    }
  }
  return table
}

/**
 * Not cryptographic: clients that can choose keys can choose ones that map to a single endpoint.
 */
export function hash32(text: string, seed: number): number {
  let hash = Math.imul(seed + 1, 0x9e3779b1)
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
    hash ^= hash >>> 15
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
