import type { Target } from '../../model/backend.ts'
import type { Attachments, Part } from '../define.ts'
import type { RequestMirror } from './schema.ts'

/** Who gets a copy; the Program knows its endpoints. */
export interface MirrorTarget {
  readonly target: Target
  /** Of 1. */
  readonly fraction: number
}

export function compileRequestMirror([{ value }]: Attachments<RequestMirror>): Part {
  const mirrors = value
    .filter(({ percentage }) => percentage > 0)
    .map(({ backend, percentage }) => ({ target: backend, fraction: percentage }))
  return { mirrors }
}
