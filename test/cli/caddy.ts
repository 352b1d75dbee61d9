import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const CACHE = join(import.meta.dirname, '../../.cache/caddy')

/** Caddy from the machine, or from the Debian package, which is unpacked and not installed. */
export function findCaddy(): string | undefined {
  const unpacked = join(CACHE, 'usr/bin/caddy')
  const isThere = (file: string) => spawnSync(file, ['version']).status === 0
  const known = ['caddy', unpacked].find(isThere)
  if (known !== undefined || process.platform !== 'linux') return known
  mkdirSync(CACHE, { recursive: true })
  const options = { cwd: CACHE, timeout: 120_000 }
  if (spawnSync('apt-get', ['--quiet', 'download', 'caddy'], options).status !== 0) return undefined
  const [archive = ''] = globSync('caddy_*.deb', { cwd: CACHE })
  spawnSync('dpkg-deb', ['--extract', archive, '.'], options)
  return isThere(unpacked) ? unpacked : undefined
}
