import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export type Built =
  | { readonly program: string }
  /** Go is not available; the string says why. */
  | { readonly missing: string }

/**
 * Builds the Go module in `folder`, or the package `target` in it, as `.cache/<name>`. Go's build
 * cache makes later builds fast.
 */
export function buildGo(folder: URL, name: string, target = '.'): Built {
  const cache = fileURLToPath(new URL('../../.cache/', import.meta.url))
  mkdirSync(cache, { recursive: true })
  const program = `${cache}${name}`
  const { error, status, stderr } = spawnSync('go', ['build', '-o', program, target], {
    cwd: fileURLToPath(folder),
    env: { ...process.env, GOFLAGS: '-mod=readonly -buildvcs=false', GOWORK: 'off' },
    encoding: 'utf8',
  })
  if (error !== undefined) return { missing: `no Go: ${error.message}` }
  if (status !== 0) throw new Error(`go build failed: ${stderr.trim()}`)
  return { program }
}
