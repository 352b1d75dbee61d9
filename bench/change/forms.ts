import { databaseSource, deliveredSource, type EditedSource, fileSource } from './sources.ts'

export interface Form {
  readonly name: string
  readonly open: () => EditedSource
  readonly hostnames: (n: number) => readonly string[]
}

const bySuffix = (n: number) => [`app-${n % 500}.example.com`]

/** Where routes are stored, and how they are distinguished. */
export const FORMS: readonly Form[] = [
  { name: 'file, 500 hosts', open: fileSource, hostnames: bySuffix },
  { name: 'file, one host', open: fileSource, hostnames: () => [] },
  { name: 'database, one host', open: databaseSource, hostnames: () => [] },
  { name: 'controller, one host', open: deliveredSource, hostnames: () => [] },
]

export const PHASES = ['reading', 'comparing', 'checking', 'applying', 'hashing'] as const
export type Phase = (typeof PHASES)[number]

/** CPU time in nanoseconds. */
export type Times = Record<Phase, number>
