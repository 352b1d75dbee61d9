import { fstatSync, ftruncateSync, writeSync } from 'node:fs'

/**
 * Appends all of the text, or nothing if it throws: a disk that becomes full stores the beginning
 * of a write. Nothing else writes to the file.
 */
export function appendWhole(file: number, text: string): void {
  const bytes = Buffer.from(text)
  let written = 0
  try {
    while (written < bytes.length) written += writeSync(file, bytes, written)
  } catch (error) {
    if (written > 0) ftruncateSync(file, fstatSync(file).size - written)
    throw error
  }
}
