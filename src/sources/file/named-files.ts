import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { SecretRef } from '../../model/secret.ts'
import type { Message } from '../../reach/checks/place.ts'
import type { SectionNode } from './section-node.ts'

/** A file that the configuration names: it is watched, and a change of it changes the Model. */
export interface NamedFile {
  /** The path that is opened. */
  readonly path: string
  readonly origin: Origin
  /** Taken before the file is read. */
  readonly stamp: string
}

/** Reads the text of a file, or returns the reason why it cannot be read. */
export type ReadText = (
  path: string,
) => { readonly stamp: string } & ({ readonly text: string } | { readonly problem: string })

export interface NamedFiles {
  /** Opens the file named at the node; returns the problem, if any. */
  read(name: string, at: SectionNode): Message | undefined
  textOf(name: string): string | undefined
  /** The text as a secret, named after the file as written in the document. */
  secretOf(name: string): SecretRef | undefined
  /** All named files, including unreadable ones, in document order. */
  list(): readonly NamedFile[]
}

/** The paths that a name may refer to; the first existing one is used. */
export type Candidates = (name: string) => readonly string[]
