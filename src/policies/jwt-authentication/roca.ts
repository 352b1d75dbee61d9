const GENERATOR = 65_537

const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101,
  103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
]

const POWERS = PRIMES.map((prime) => {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * GENERATOR) % prime) powers.add(power)
  return { prime: BigInt(prime), powers }
})

/**
 * CVE-2017-15361: a smart card library generated primes of the form k·M + (65537^a mod M), with M
 * the product of small primes, which can be factored. Such a modulus is a power of 65537 modulo
 * every one of them; for other moduli this happens about once in 2^27.
 */
export function isRocaModulus(modulus: bigint): boolean {
  return POWERS.every(({ prime, powers }) => powers.has(Number(modulus % prime)))
}
