import type { Attachments, Part } from '../define.ts'
import type { RequestMirror } from './schema.ts'

export function compileRequestMirror([{ value }]: Attachments<RequestMirror>): Part {
  const mirrors = value
    .filter(({ percentage }) => percentage > 0)
    .map(({ backend, percentage }) => ({ target: backend, fraction: percentage }))
  return { mirrors }
}
