import { statSync } from 'node:fs'

/** The version of a file that is not there. */
export const ABSENT = 'ENOENT'

/** Tells a file from what it was before. Links are followed: what counts is what would be read. */
export function stampOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
    return `${dev}:${ino}:${size}:${mtimeNs}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}
