/** A stored password hash of one user. It contains no password. */
export type PasswordHash =
  | { readonly kind: 'bcrypt'; readonly hash: string }
  | {
      readonly kind: 'argon2'
      readonly algorithm: 'argon2d' | 'argon2i' | 'argon2id'
      /** In KiB. */
      readonly memory: number
      readonly passes: number
      readonly parallelism: number
      /** In base64. */
      readonly salt: string
      readonly tag: string
    }
  | { readonly kind: 'sha1'; readonly digest: string }
  | {
      readonly kind: 'sha-crypt'
      readonly digest: 'sha256' | 'sha512'
      readonly rounds: number
      readonly salt: string
      readonly tag: string
    }
  | { readonly kind: 'apr1'; readonly salt: string; readonly tag: string }

export interface Users {
  readonly byName: ReadonlyMap<string, PasswordHash>
  /** Lines that cannot be used to sign in. */
  readonly faults: readonly LineFault[]
}

export interface LineFault {
  /** Counts from 1. */
  readonly line: number
  readonly problem: string
}

/** Parses an htpasswd file: `name:hash` on each line, `#` starts a comment. */
export function parseHtpasswd(text: string): Users {
  const byName = new Map<string, PasswordHash>()
  const faults: LineFault[] = []
  for (const [index, whole] of text.split(/\r?\n/).entries()) {
    const line = whole.trim()
    if (line === '' || line.startsWith('#')) continue
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0))
    const hash = colon <= 0 ? 'expected `name:hash`' : parseHash(line.slice(colon + 1))
    if (typeof hash === 'string') faults.push({ line: index + 1, problem: hash })
    else if (byName.has(name)) faults.push({ line: index + 1, problem: 'duplicate name' })
    else byName.set(name, hash)
  }
  return { byName, faults }
}

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const ARGON2 =
  /^\$(argon2(?:id|i|d))\$v=(\d+)\$m=(\d{1,9}),t=(\d{1,6}),p=(\d{1,4})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const SHA1 = /^\{SHA\}([A-Za-z0-9+/]{27}=)$/
const SHA_CRYPT = /^\$([56])\$(?:rounds=(\d{1,9})\$)?([^$]{0,16})\$([./A-Za-z0-9]+)$/
const APR1 = /^\$apr1\$([^$]{0,8})\$([./A-Za-z0-9]{22})$/

/** Beyond these limits, one wrong password would block other checks for seconds. */
const MAX_BCRYPT_COST = 15
const MAX_ARGON2_MEMORY = 262_144
const MAX_ARGON2_WORK = 2_097_152
const MAX_ROUNDS = 500_000
const ARGON2_VERSION = 19

/** A string describes why the hash cannot be checked. */
export function parseHash(text: string): PasswordHash | string {
  const bcrypt = BCRYPT.exec(text)
  if (bcrypt !== null) {
    const cost = Number(bcrypt[1])
    if (cost < 4 || cost > MAX_BCRYPT_COST) return `bcrypt cost ${cost} is not between 4 and 15`
    return { kind: 'bcrypt', hash: text }
  }
  const argon2 = ARGON2.exec(text)
  if (argon2 !== null) return argon2Hash(argon2)
  const sha1 = SHA1.exec(text)
  if (sha1 !== null) return { kind: 'sha1', digest: sha1[1] as string }
  const crypt = SHA_CRYPT.exec(text)
  if (crypt !== null) {
    const [, version, written, salt = '', tag = ''] = crypt
    const rounds = Math.max(1000, Number(written ?? 5000))
    if (rounds > MAX_ROUNDS) return `${rounds} rounds exceed the limit of ${MAX_ROUNDS}`
    return { kind: 'sha-crypt', digest: version === '5' ? 'sha256' : 'sha512', rounds, salt, tag }
  }
  const apr1 = APR1.exec(text)
  if (apr1 !== null) return { kind: 'apr1', salt: apr1[1] as string, tag: apr1[2] as string }
  return 'unsupported hash type'
}

function argon2Hash(found: RegExpExecArray): PasswordHash | string {
  const [, algorithm, version, memory, passes, parallelism, salt = '', tag = ''] = found
  const [m, t, p] = [Number(memory), Number(passes), Number(parallelism)]
  if (Number(version) !== ARGON2_VERSION)
    return `unsupported argon2 version ${version}; expected 19`
  if (m > MAX_ARGON2_MEMORY)
    return `argon2 memory of ${m} KiB exceeds the limit of ${MAX_ARGON2_MEMORY}`
  if (m * t > MAX_ARGON2_WORK) return 'too many argon2 passes for this amount of memory'
  if (t < 1 || p < 1 || p > 64 || m < 8 * p) return 'inconsistent argon2 parameters'
  return {
    kind: 'argon2',
    algorithm: algorithm as 'argon2id',
    memory: m,
    passes: t,
    parallelism: p,
    salt,
    tag,
  }
}
