import { statSync } from 'node:fs'

/** The version of a missing file. */
export const ABSENT = 'ENOENT'

/**
 * Identifies the version of a file. Symlinks are followed: the file that would be read counts. The
 * ctime is included, because a tool may restore the mtime, and an unreadable file may become
 * readable with the same content.
 */
export function stampOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}
