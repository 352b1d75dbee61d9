import { createHash } from 'node:crypto'
import type { FileOrigin } from '../../diagnostics/diagnostic.ts'
import type { SecretRef } from '../../model/secret.ts'
import { sealSecret, secretVersion } from '../../policies/schema.ts'
import type { Message } from '../../reach/checks/place.ts'
import type { SectionNode } from './section-node.ts'

/** A file that the configuration names: it is watched, and a change of it is one of the Model. */
export interface NamedFile {
  /** As it is opened. */
  readonly path: string
  readonly origin: FileOrigin
  /** From before it was read. */
  readonly stamp: string
}

/** The text of a file, or why there is none. */
export type ReadText = (
  path: string,
) => { readonly stamp: string } & ({ readonly text: string } | { readonly problem: string })

export interface NamedFiles {
  /** Opens the file that stands at the node; what is wrong, if anything. */
  read(name: string, at: SectionNode): Message | undefined
  textOf(name: string): string | undefined
  /** The text as a secret, which is called after the file as the document names it. */
  secretOf(name: string): SecretRef | undefined
  /** All that were named, also those that could not be read, in the order of the document. */
  list(): readonly NamedFile[]
}

/** `resolve` makes a path of a name: relative ones start at the folder of the document. */
export function namedFiles(resolve: (name: string) => string, readText: ReadText): NamedFiles {
  const named = new Map<string, NamedFile>()
  const texts = new Map<string, ReturnType<ReadText>>()
  const secrets = new Map<string, SecretRef>()
  const textOf = (name: string) => {
    const found = texts.get(resolve(name))
    return found !== undefined && 'text' in found ? found.text : undefined
  }
  return {
    read(name, at) {
      const path = resolve(name)
      const found = texts.get(path) ?? readText(path)
      texts.set(path, found)
      const { stamp } = found
      if (!named.has(path)) named.set(path, { path, origin: at.origin, stamp })
      if ('text' in found) return undefined
      return {
        code: 'PC0310',
        message: `the file cannot be read: ${found.problem}`,
        hint: `relative paths start at the folder of this file: looked for ${path}`,
      }
    },
    textOf,
    secretOf(name) {
      const known = secrets.get(name)
      const text = known === undefined ? textOf(name) : undefined
      if (text === undefined) return known
      // Files may be long, as one of all users is: OpenSSL is quicker than the hash of schemas.
      const version = secretVersion(createHash('sha256').update(text).digest())
      const made = sealSecret(text, name, version)
      secrets.set(name, made)
      return made
    },
    list: () => [...named.values()],
  }
}
