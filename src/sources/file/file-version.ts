import { statSync } from 'node:fs'

/** The version of a file that is not there. */
export const ABSENT = 'ENOENT'

/**
 * Tells a file from what it was before. Links are followed: what counts is what would be read. The
 * time of the last change of anything about it counts, too: a tool may restore the time of its
 * content, and a file that could not be read may be readable with the same content.
 */
export function stampOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}
