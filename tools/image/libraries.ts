import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { call } from '../release/platforms.ts'

/** A shared library in an image, and its Debian package. */
export interface Library {
  /** The path in the image, without the leading slash. */
  readonly path: string
  readonly bytes: Buffer
  readonly package: string
  readonly version: string
}

/** The libraries that this machine's dynamic loader loads for Node. */
export function hostLibraries(node: string): readonly Library[] {
  const text = call('ldd', [node])
  return Array.from(text.matchAll(/(?:=> )?(\/\S+) \(0x/g), ([, path = '']) => {
    const file = realpathSync(path)
    return { path: path.slice(1), bytes: readFileSync(file), ...packageOf(file) }
  })
}

function packageOf(file: string): { readonly package: string; readonly version: string } {
  const asked = [file, file.replace(/^\/usr/, ''), `/usr${file}`]
  for (const path of asked) {
    const { status, stdout } = spawnSync('dpkg-query', ['--search', path], { encoding: 'utf8' })
    const [, name] = /^([^:\s]+)/.exec(stdout ?? '') ?? []
    if (status !== 0 || name === undefined) continue
    const [version = ''] = call('dpkg-query', ['--show', name]).split('\n')
    return { package: name, version: version.split('\t').at(-1) ?? '' }
  }
  return { package: basename(file), version: 'unknown' }
}

const ARM64_PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1']
const ARM64_FILES = [
  'ld-linux-aarch64.so.1',
  'libc.so.6',
  'libm.so.6',
  'libdl.so.2',
  'libpthread.so.0',
  'libatomic.so.1',
  'libgcc_s.so.1',
  'libstdc++.so.6',
]

/** Debian's arm64 libraries of the same release as this machine's, unpacked in .cache. */
export function arm64Libraries(root: string): readonly Library[] {
  const folder = arm64Folder(root)
  const versions = new Map(
    readdirSync(join(folder, 'packages')).map((file) => {
      const [name = '', version = ''] = file.split('_')
      return [name, decodeURIComponent(version)]
    }),
  )
  return ARM64_FILES.map((name) => {
    const [file = ''] = ['lib', 'usr/lib']
      .map((base) => join(folder, 'root', base, 'aarch64-linux-gnu', name))
      .filter(existsSync)
    const isLoader = name.startsWith('ld-')
    const package_ = PACKAGE_OF[name] ?? 'libc6'
    return {
      path: isLoader ? `lib/${name}` : `lib/aarch64-linux-gnu/${name}`,
      bytes: readFileSync(realpathSync(file)),
      package: package_,
      version: versions.get(package_) ?? 'unknown',
    }
  })
}

const PACKAGE_OF: Readonly<Record<string, string>> = {
  'libatomic.so.1': 'libatomic1',
  'libgcc_s.so.1': 'libgcc-s1',
  'libstdc++.so.6': 'libstdc++6',
}

/** Its subfolder `root` has the contents of the packages. */
function arm64Folder(root: string): string {
  const folder = join(root, '.cache/debian-arm64')
  if (existsSync(folder)) return folder
  const fresh = `${folder}.${process.pid}`
  const inside = (...names: readonly string[]) => join(fresh, ...names)
  for (const name of ['lists/partial', 'cache/archives/partial', 'packages', 'root']) {
    mkdirSync(inside(name), { recursive: true })
  }
  const options = [
    `Dir::State::Lists=${inside('lists')}`,
    `Dir::Cache=${inside('cache')}`,
    'APT::Architecture=arm64',
    'APT::Architectures::=arm64',
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
  ].flatMap((option) => ['-o', option])
  try {
    call('apt-get', [...options, '--quiet', 'update'])
    call('apt-get', [...options, '--quiet', 'download', ...ARM64_PACKAGES], inside('packages'))
    for (const file of readdirSync(inside('packages'))) {
      call('dpkg-deb', ['--extract', inside('packages', file), inside('root')])
    }
    rmSync(inside('lists'), { recursive: true })
    rmSync(inside('cache'), { recursive: true })
    if (!existsSync(folder)) renameSync(fresh, folder)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  return folder
}
