import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stopAll } from './processes.ts'

/** A folder for one bench. However that ends, it is removed, and what was started is stopped. */
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
