import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call } from '../../tools/release/platforms.ts'

/** An artefact as installed on a user's machine. */
export interface Installed {
  /** The folder of the user's files. */
  readonly folder: string
  /** The path of `portcullis`. */
  readonly path: string
  readonly uninstall: () => void
}

/** The PATH of the machine, without the packages of the repository. */
export const machinePath = (process.env['PATH'] ?? '')
  .split(':')
  .filter((folder) => folder.startsWith('/') && !folder.includes('node_modules'))
  .join(':')

/** `npm install portcullis-….tgz` with the npm and the Node of the machine. */
export function installPackage(archive: string, home: string): Installed {
  const folder = join(home, 'package')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const npm = (...args: readonly string[]) =>
    call('env', [`PATH=${machinePath}`, 'npm', '--no-audit', '--no-fund', ...args], folder)
  npm('install', '--prefer-offline', archive)
  // As the README calls it.
  const said = call('env', [`PATH=${machinePath}`, 'npx', '--no', 'portcullis', 'version'], folder)
  if (!/^portcullis \d/.test(said)) throw new Error(`npx portcullis version: ${said}`)
  return {
    folder: join(home, 'work'),
    path: join(folder, 'node_modules/.bin'),
    uninstall: () => npm('uninstall', 'portcullis'),
  }
}

export function installSingleFile(file: string, home: string): Installed {
  const path = join(home, 'bin')
  mkdirSync(path)
  copyFileSync(file, join(path, 'portcullis'))
  chmodSync(join(path, 'portcullis'), 0o755)
  return { folder: join(home, 'work'), path, uninstall: () => rmSync(path, { recursive: true }) }
}

interface Descriptor {
  readonly digest: string
}

/** The layers of an image as a root directory, run as its user, with nothing of this machine. */
export function installImage(archive: string, home: string): Installed {
  const [image, root, path] = ['image', 'root', 'bin'].map((name) => join(home, name))
  if (image === undefined || root === undefined || path === undefined)
    throw new Error('unreachable')
  for (const folder of [image, root, path]) mkdirSync(folder)
  call('tar', ['-xf', archive, '-C', image])
  const blob = ({ digest }: Descriptor) => join(image, 'blobs', digest.replace(':', '/'))
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
  const manifest = read(blob(read(join(image, 'index.json')).manifests[0]))
  for (const layer of manifest.layers) call('tar', ['-xzf', blob(layer), '-C', root])
  const { Entrypoint, User } = read(blob(manifest.config)).config
  const [user, group] = User.split(':')
  const command = Entrypoint.join(' ')
  writeFileSync(
    join(path, 'portcullis'),
    `#!/bin/sh
export HOME=/home TMPDIR=/tmp
exec unshare --mount -- sh -c 'mount --bind /proc ${root}/proc && exec unshare --root=${root} \\
  --wd="/work/\${PWD##*/}" --setuid ${user} --setgid ${group} -- ${command} "$@"' portcullis "$@"
`,
    { mode: 0o755 },
  )
  const folder = join(root, 'work')
  // The directories that every container runtime mounts into an image, and one for the user's
  // files.
  for (const name of ['work', 'tmp', 'home', 'proc']) {
    mkdirSync(join(root, name), { recursive: true })
    chmodSync(join(root, name), 0o777)
  }
  // As `kubectl exec` calls it, by the PATH of the image.
  const inside = [
    `--root=${root}`,
    '--setuid',
    user,
    '--setgid',
    group,
    '--',
    '/usr/bin/portcullis',
  ]
  const said = call('unshare', [...inside, 'version'])
  if (!/^portcullis \d/.test(said)) throw new Error(`portcullis in the image: ${said}`)
  const uninstall = () => {
    for (const own of [root, path]) rmSync(own, { recursive: true })
  }
  return { folder, path, uninstall }
}

/** The Node of the machine, if any: the npm package runs on it. */
export function machineNode(): string | undefined {
  try {
    return call('env', [`PATH=${machinePath}`, 'node', '--version']).trim()
  } catch {
    return undefined
  }
}
