import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FindUi } from '../admin/ui-files.ts'

const TIMEOUT_MS = 120_000

/**
 * Finds the Admin UI. A release ships it next to the program. A checkout builds it when the first
 * page is opened, so that neither startup nor `npm ci` waits for it; the build is kept until its
 * sources change.
 */
export function openUi(): FindUi {
  const released = join(import.meta.dirname, 'ui')
  if (existsSync(join(released, 'index.html'))) return async () => ({ folder: released })
  const builder = join(import.meta.dirname, '../../tools/ui/build.ts')
  if (!existsSync(builder)) {
    return async () => ({ problem: 'this build of Portcullis has no Admin UI' })
  }
  return () =>
    new Promise((resolve) => {
      const settings = { timeout: TIMEOUT_MS, maxBuffer: 1 << 24 }
      execFile(process.execPath, [builder], settings, (error, out, err) => {
        if (error === null) resolve({ folder: out.trim().split('\n').at(-1) ?? '' })
        else resolve({ problem: `the Admin UI could not be built: run npm ci\n\n${err}`.trim() })
      })
    })
}
