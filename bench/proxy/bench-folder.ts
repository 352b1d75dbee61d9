import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stopAll } from './processes.ts'

/** Runs a bench in a new folder; always removes the folder and stops the started processes. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const interrupted = () => {
    remove()
    process.exit(130)
  }
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    return await work(folder)
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    await stopAll()
    remove()
  }
}
