import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type { SecretRef } from '../../model/secret.ts'
import { sealSecret, secretVersion } from '../../policies/schema.ts'
import { ABSENT } from './file-version.ts'
import type { Candidates, NamedFile, NamedFiles, ReadText } from './named-files.ts'
import type { SectionNode } from './section-node.ts'

function isAbsent(found: ReturnType<ReadText>): boolean {
  return found.stamp === ABSENT && 'problem' in found
}

/**
 * Relative paths are resolved against the folder of the document. If the file does not exist there,
 * the working directory is tried, which files written for other gateways expect.
 */
export function candidatesFrom(folder: string): Candidates {
  return (name) => [...new Set([resolve(folder, name), resolve(name)])]
}

interface Tried {
  readonly found: ReturnType<ReadText>
  /** The paths that were tried. */
  readonly paths: readonly string[]
}

export function namedFiles(candidates: Candidates, readText: ReadText): NamedFiles {
  const named = new Map<string, NamedFile>()
  const read = new Map<string, ReturnType<ReadText>>()
  const byName = new Map<string, Tried>()
  const secrets = new Map<string, SecretRef>()
  const textAt = (path: string) => {
    const found = read.get(path) ?? readText(path)
    read.set(path, found)
    return found
  }
  const tryAll = (name: string, { origin }: SectionNode): Tried => {
    const all = candidates(name)
    const at = all.findIndex((path) => !isAbsent(textAt(path)))
    const paths = at === -1 ? all : all.slice(0, at + 1)
    for (const path of paths) {
      // If a file appears later at a preferred path, it takes precedence.
      if (!named.has(path)) named.set(path, { path, origin, stamp: textAt(path).stamp })
    }
    return { found: textAt(all[Math.max(0, at)] as string), paths }
  }
  const textOf = (name: string) => {
    const found = byName.get(name)?.found
    return found !== undefined && 'text' in found ? found.text : undefined
  }
  return {
    read(name, at) {
      const tried = byName.get(name) ?? tryAll(name, at)
      byName.set(name, tried)
      const { found, paths } = tried
      if ('text' in found) return undefined
      return {
        code: 'PC0310',
        message: `the file cannot be read: ${found.problem}`,
        hint: `relative paths are resolved against the folder of this file: tried ${paths.join(', then ')}`,
      }
    },
    textOf,
    secretOf(name) {
      const known = secrets.get(name)
      const text = known === undefined ? textOf(name) : undefined
      if (text === undefined) return known
      // Files may be long, such as a list of all users; OpenSSL is faster than the hash of schemas.
      const version = secretVersion(createHash('sha256').update(text).digest())
      const made = sealSecret(text, name, version)
      secrets.set(name, made)
      return made
    },
    list: () => [...named.values()],
  }
}
