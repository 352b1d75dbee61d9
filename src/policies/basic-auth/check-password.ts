import { argon2Sync, hash as digestOf, timingSafeEqual } from 'node:crypto'
import bcrypt from 'bcryptjs'
import { apr1, shaCrypt } from './crypt.ts'
import type { PasswordHash } from './htpasswd.ts'

/** Whether the password matches the hash. Slow by design: never call it on the event loop. */
export function checkPassword(password: string, hash: PasswordHash): boolean {
  switch (hash.kind) {
    case 'bcrypt':
      return bcrypt.compareSync(password, hash.hash)
    case 'argon2': {
      const tag = Buffer.from(hash.tag, 'base64')
      const made = argon2Sync(hash.algorithm, {
        message: password,
        nonce: Buffer.from(hash.salt, 'base64'),
        parallelism: hash.parallelism,
        tagLength: tag.length,
        memory: hash.memory,
        passes: hash.passes,
      })
      return timingSafeEqual(made, tag)
    }
    case 'sha1':
      return isSame(digestOf('sha1', password, 'base64'), hash.digest)
    case 'sha-crypt':
      return isSame(shaCrypt(hash.digest, password, hash.salt, hash.rounds), hash.tag)
    case 'apr1':
      return isSame(apr1(password, hash.salt), hash.tag)
  }
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
